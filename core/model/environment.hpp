// SPDX-License-Identifier: LGPL-2.1-or-later
// An environment is one user's claim on devices. The set of environments is the whole state of
// genv; everything else is derived from it.
#pragma once

#include "core/base/bytes.hpp"
#include "core/base/process.hpp"
#include "core/base/time.hpp"
#include "core/model/attach_request.hpp"
#include "core/model/device.hpp"
#include "core/model/environment_id.hpp"
#include "core/model/lease.hpp"
#include "core/model/parked.hpp"
#include "core/model/preemptible.hpp"
#include "core/model/reason.hpp"
#include "core/model/slurm_job.hpp"
#include "core/model/taking.hpp"
#include "core/ports/processes.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::core {

/// The settings that an environment's owner can choose. Each may be unset.
struct EnvironmentConfiguration {
    std::optional<std::string> name;
    std::optional<std::uint32_t> gpus;
    std::optional<Bytes> gpuMemory; ///< the share of each device; unset: whole devices
    bool overSubscribable = false;  ///< other users may over-subscribe the environment's devices
    Preemptible preemptible = Preemptible::No; ///< its devices are on loan

    friend bool operator==(const EnvironmentConfiguration&,
                           const EnvironmentConfiguration&) = default;
};

/// A device that an environment holds. It stores the facts of the device, so that the service knows
/// what each environment holds even if it starts while the driver hangs.
struct DeviceAttachment {
    DeviceFacts device;
    std::optional<Bytes> share; ///< unset: the whole device
    bool overSubscribed = false;
    bool exempt =
        false; ///< granted above a limit by a privileged caller, so the limits' rules skip it
    WallTime since;
    std::uint64_t sequence = 0; ///< order of attachment across all environments
    std::optional<Lease> lease; ///< unset: it does not expire by itself
    /// The waiting requests for which the device was kept when it was granted. The lease cannot be
    /// extended while one of them waits.
    std::vector<std::uint64_t> keptFor = {};
    bool overLimit = false; ///< a limit was lowered below it, and KeepGrants= spares it
    BootTime began = {};    ///< `since` on the boot clock, which cannot be set; zero if unknown

    friend bool operator==(const DeviceAttachment&, const DeviceAttachment&) = default;
};

/// A process that keeps an environment alive. It is pinned while it is in the ledger.
struct RootProcess {
    ProcessIdentity identity;
    std::shared_ptr<const ProcessPin> pin;
    /// Not registered by anybody: the process used the environment's devices when the last
    /// registered process exited, and keeps them until it exits itself.
    bool lingers = false;

    friend bool operator==(const RootProcess& a, const RootProcess& b) {
        return a.identity == b.identity && a.lingers == b.lingers;
    }
};

/// The program that started a Jupyter kernel and may restart it, such as a Jupyter server.
struct JupyterKernelStarter {
    Pid pid = 0;
    std::shared_ptr<const ProcessHandle> process; ///< null if it is unknown
};

/// A Jupyter kernel that keeps an environment alive, with its process.
struct JupyterKernel {
    std::string id;
    RootProcess process;
    JupyterKernelStarter starter{};

    friend bool operator==(const JupyterKernel& a, const JupyterKernel& b) {
        return a.id == b.id && a.process == b.process;
    }
};

/// A request for devices in the queue. Its ticket is its position.
struct Wait {
    std::uint64_t ticket = 0; ///< order across all waiting requests
    AttachRequest request;
    WallTime since;
    Actor actor = {};    ///< the user who made the request
    bool exempt = false; ///< may exceed a limit
    /// The request started the environment. If the request fails, the environment ends, unless
    /// another process has `joined` it.
    bool startsEnvironment = false;
    bool joined = false;
    /// The lifetime of the environment if the request starts it, otherwise of the attachment.
    std::optional<std::chrono::seconds> lifetime;
    BootTime began = {}; ///< `since` on the boot clock, which cannot be set
    // The order of the queue (core/placement/fair_order.hpp).
    std::int32_t priority = 0;     ///< among the requests of its user
    std::uint32_t overtakings = 0; ///< how often it was overtaken while it was first
    std::optional<BootTime> firstSince = {};
    /// While a quota of the owner forbids the request, it waits and is not refused.
    bool holdForQuota = false;
    std::optional<BootTime> heldSince = {}; ///< set while a quota holds the request back
    std::chrono::microseconds heldFor = {}; ///< how long a quota held it back before that
    // Loans (core/loans/).
    /// The environment was parked for another request, and waits to have its devices again. It has
    /// no client, and MaxWait does not end it.
    bool resumes = false;
    /// The request waits only for its taking, and ends with it.
    bool takesOnly = false;
    std::optional<PendingTaking> taking = {}; ///< set while others are parked for the request

    friend bool operator==(const Wait&, const Wait&) = default;
};

/// A request for the lock in the queue. Its ticket is its position.
struct LockWait {
    std::uint64_t ticket = 0; ///< order across all waiting requests
    Uid actor = 0;            ///< the user who made the request

    friend bool operator==(const LockWait&, const LockWait&) = default;
};

/// A held lock: exclusive use of these devices among the environments that share them.
struct HeldLock {
    std::uint64_t number = 0; ///< the name of its descriptor; equals the ticket of its request
    std::vector<DeviceUuid> devices;

    friend bool operator==(const HeldLock&, const HeldLock&) = default;
};

/// An environment whose last registered process is gone. The next sample shows whether its compute
/// processes still use its devices.
struct PendingEnd {
    bool byOwner = false; ///< true if the owner ended it, false if its last process exited
    /// Processes that belonged to the environment: former root processes, and the compute processes
    /// of the last sample.
    std::vector<ProcessIdentity> members;

    friend bool operator==(const PendingEnd&, const PendingEnd&) = default;
};

/// One user's claim on devices, as the ledger records it.
struct EnvironmentRecord {
    EnvironmentId id;
    Uid uid = 0;
    std::string user; ///< the owner's name, or the uid as text
    WallTime created;
    /// `created` on the boot clock, which cannot be set. Zero if the state document comes from an
    /// earlier version that did not record it.
    BootTime createdSinceBoot;
    BootTime began; ///< start of its lifetime: later than `created` if the environment had to wait
    bool exempt =
        false; ///< granted above a limit by a privileged caller, so the limits' rules skip it
    bool overLimit = false;     ///< a limit was lowered below it, and KeepGrants= spares it
    std::uint64_t sequence = 0; ///< order of creation
    EnvironmentConfiguration configuration;
    std::vector<RootProcess> processes;
    std::vector<JupyterKernel> jupyterKernels;
    std::vector<DeviceAttachment> attachments; ///< oldest first
    std::optional<Lease> lease;                ///< unset: it does not expire by itself
    std::vector<Wait> waits;                   ///< oldest first
    std::vector<HeldLock> locks;
    /// Oldest first. A granted request stays here until the lock was sent to its client.
    std::vector<LockWait> lockWaits;

    std::optional<PendingEnd> pendingEnd;

    std::optional<Parking> parking; ///< unset while it is active
    /// Why the last parking failed, or a resume cannot go on, with the remedy; empty: no problem.
    std::string parkingProblem;
    /// Parking it for others failed, and did not succeed since: its devices are on loan in name
    /// only.
    bool loanFailed = false;

    std::optional<SlurmJob> job; ///< unset if the environment does not belong to a Slurm job

    /// The parent, whose devices this environment shares and with which it ends. Unset: the
    /// environment takes devices of the machine.
    std::optional<EnvironmentId> parent;

    /// Returns whether a registered process, a Jupyter kernel or a Slurm job keeps the environment
    /// alive.
    [[nodiscard]] bool isRegistered() const;
    /// Returns whether the environment exists. Without a registered process it exists only while it
    /// holds devices, or has parked processes.
    [[nodiscard]] bool isAlive() const;
    /// Returns whether only compute processes that still use its devices keep the environment
    /// alive.
    [[nodiscard]] bool isLingering() const;
    /// Returns whether it is parked, or on its way there or back. Then its devices are not changed
    /// on request.
    [[nodiscard]] bool isParking() const { return parking.has_value(); }
    /// Returns whether it is at this step of a parking.
    [[nodiscard]] bool isAt(ParkingStep step) const { return parking && parking->step == step; }
    /// Returns whether it was parked for others, and waits to have its devices again.
    [[nodiscard]] bool awaitsResume() const;
    /// Returns whether a process of it is parked, is being parked, or resumes.
    [[nodiscard]] bool hasParked() const { return parking && !parking->processes.empty(); }
    /// Turns this into an environment that has ended.
    void end();
    /// The same for somebody else's decision, whose reason has this text: an environment with
    /// parked processes gives up everything, and exists until these have been ended
    /// (ParkingStep::Ending).
    void endWithParked(const std::string& reason);
    /// Returns whether an attachment of it is a loan: others' requests may take the device. Shares,
    /// over-subscribed devices and those of children are none.
    [[nodiscard]] bool lends(const DeviceAttachment& attachment) const;
    [[nodiscard]] const DeviceAttachment* attachmentTo(const DeviceUuid& uuid) const;
    /// Returns the indices of the attached devices, ascending.
    [[nodiscard]] std::vector<DeviceIndex> deviceIndices() const;
    /// Returns whether the environment was started by a request that still waits, and holds nothing
    /// yet.
    [[nodiscard]] bool isWaitingToStart() const;
    /// Returns whether the environment counts towards MaxEnvironmentsPerUser. One that a request
    /// started which may be held back for a quota does not, until it has devices.
    [[nodiscard]] bool isCounted() const;
    /// Returns the lease that ends first, among its own and those of its attachments.
    [[nodiscard]] std::optional<Lease> firstLease() const;
    /// Returns when Slurm ends the environment, if it belongs to a job and Slurm reported an end.
    [[nodiscard]] std::optional<WallTime> jobEnd() const;
    /// Returns when an attachment ends, by its own lease or the environment's.
    [[nodiscard]] std::optional<BootTime> endOf(const DeviceAttachment& attachment) const;
    /// Returns each attached device, by ascending index, with its end as endOf() returns it.
    [[nodiscard]] std::vector<std::pair<DeviceIndex, std::optional<BootTime>>> deviceEnds() const;
    /// Returns whether one of the environment's locks covers this device.
    [[nodiscard]] bool hasLocked(const DeviceUuid& uuid) const;

    friend bool operator==(const EnvironmentRecord&, const EnvironmentRecord&) = default;
};

} // namespace genv::core
