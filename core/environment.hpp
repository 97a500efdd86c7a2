// SPDX-License-Identifier: LGPL-2.1-or-later
// What an environment is: one user's claim. The set of environments is the whole state of genv;
// everything else is derived from it.
#pragma once

#include "core/attach_request.hpp"
#include "core/bytes.hpp"
#include "core/device.hpp"
#include "core/lease.hpp"
#include "core/ports/processes.hpp"
#include "core/process.hpp"
#include "core/reason.hpp"
#include "core/slurm_job.hpp"
#include "core/time.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::core {

using EnvironmentId = std::string;

/// What its owner wants; each may be unset.
struct Configuration {
    std::optional<std::string> name;
    std::optional<std::uint32_t> gpus;
    std::optional<Bytes> gpuMemory; ///< the share of each device; whole devices without it

    friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// A device that an environment holds. It remembers what the device is, so that a service that
/// starts while the driver hangs still knows what people hold.
struct Attachment {
    DeviceFacts device;
    std::optional<Bytes> share; ///< unset: the whole device
    bool overSubscribed = false;
    bool exempt = false; ///< granted over a limit, by somebody who may: the limits' rules spare it
    WallTime since;
    std::uint64_t sequence = 0; ///< order of attachment over all environments
    std::optional<Lease> lease; ///< when it ends by itself
    /// The waiting requests that the device was kept for when it was given. Its lease is not
    /// extended while one of them waits.
    std::vector<std::uint64_t> keptFor = {};

    friend bool operator==(const Attachment&, const Attachment&) = default;
};

/// A process that keeps an environment alive, pinned while it is in the ledger.
struct RootProcess {
    ProcessIdentity identity;
    std::shared_ptr<const ProcessPin> pin;
    /// Nobody registered it: it used the environment's devices when the last registered process
    /// went, and keeps them until it exits.
    bool lingers = false;

    friend bool operator==(const RootProcess& a, const RootProcess& b) {
        return a.identity == b.identity && a.lingers == b.lingers;
    }
};

/// The program that started a kernel and may restart it, such as Jupyter's server.
struct KernelStarter {
    Pid pid = 0;
    std::shared_ptr<const ProcessHandle> process; ///< null: it is not known
};

/// A Jupyter kernel that keeps an environment alive, and the process it is.
struct Kernel {
    std::string id;
    RootProcess process;
    KernelStarter starter{};

    friend bool operator==(const Kernel& a, const Kernel& b) {
        return a.id == b.id && a.process == b.process;
    }
};

/// A request for devices that waits for its turn, which is its ticket's.
struct Wait {
    std::uint64_t ticket = 0; ///< order over everything that waits
    AttachRequest request;
    WallTime since;
    Actor actor = {};    ///< who asked
    bool exempt = false; ///< allowed to go over a limit
    /// The environment was started by this request, and is gone with it unless somebody `joined`.
    bool startsEnvironment = false;
    bool joined = false;
    /// How long the environment (when the request starts it) or else the attachment lasts.
    std::optional<std::chrono::seconds> lifetime;
    BootTime began = {}; ///< `since`, by a clock that nobody sets

    friend bool operator==(const Wait&, const Wait&) = default;
};

/// A request for the lock that waits for its turn, which is its ticket's.
struct LockWait {
    std::uint64_t ticket = 0; ///< order over everything that waits
    Uid actor = 0;            ///< who asked

    friend bool operator==(const LockWait&, const LockWait&) = default;
};

/// A lock that is held: exclusive use of these devices among those that share them.
struct HeldLock {
    std::uint64_t number = 0; ///< its descriptor's name, and the ticket of the request for it
    std::vector<DeviceUuid> devices;

    friend bool operator==(const HeldLock&, const HeldLock&) = default;
};

/// The last registered process of an environment is gone, and a sample has yet to say whether its
/// compute processes still use its devices.
struct PendingEnd {
    bool byOwner = false; ///< its owner ended it; else its last process exited
    /// Processes that belonged to it: former root processes, and compute processes as last sampled.
    std::vector<ProcessIdentity> members;

    friend bool operator==(const PendingEnd&, const PendingEnd&) = default;
};

/// One user's claim.
struct Environment {
    EnvironmentId id;
    Uid uid = 0;
    std::string user; ///< the owner's name, or the uid as text
    WallTime created;
    /// The moment of `created` by a clock that nobody sets; zero where the document of an earlier
    /// version does not say.
    BootTime createdSinceBoot;
    BootTime began;      ///< when its lifetime began: later than `created` for one that had to wait
    bool exempt = false; ///< granted over a limit, by somebody who may: the limits' rules spare it
    std::uint64_t sequence = 0; ///< order of creation
    Configuration configuration;
    std::vector<RootProcess> processes;
    std::vector<Kernel> kernels;
    std::vector<Attachment> attachments; ///< oldest first
    std::optional<Lease> lease;          ///< when it ends by itself
    std::vector<Wait> waits;             ///< earliest first
    std::vector<HeldLock> locks;
    /// The earliest comes first. A granted request stays until its client was sent the lock.
    std::vector<LockWait> lockWaits;

    std::optional<PendingEnd> pendingEnd;

    std::optional<SlurmJob> job; ///< unset: it is no job's

    /// The environment whose devices it takes some of, and with which it ends. Unset: it takes the
    /// machine's.
    std::optional<EnvironmentId> parent;

    /// Whether a registered process or kernel keeps it alive, or the Slurm job that it is.
    [[nodiscard]] bool isRegistered() const;
    /// Whether it exists. Without a registered process it does only for the devices that it holds.
    [[nodiscard]] bool isAlive() const;
    /// Whether only compute processes keep it, since they still use its devices.
    [[nodiscard]] bool isLingering() const;
    /// Makes it one that is over.
    void end();
    [[nodiscard]] const Attachment* attachmentTo(const DeviceUuid& uuid) const;
    /// The attached indices, ascending.
    [[nodiscard]] std::vector<DeviceIndex> deviceIndices() const;
    /// Whether it was started by a request that still waits, and has nothing yet.
    [[nodiscard]] bool isWaitingToStart() const;
    /// Of its lease and its attachments' the one that ends first.
    [[nodiscard]] std::optional<Lease> firstLease() const;
    /// When Slurm ends it, where it is a job's and Slurm said so.
    [[nodiscard]] std::optional<WallTime> jobEnd() const;
    /// When one of its attachments ends by a lease, its own or the environment's.
    [[nodiscard]] std::optional<BootTime> endOf(const Attachment& attachment) const;
    /// Each attached device, by ascending index, with when it ends as endOf() says.
    [[nodiscard]] std::vector<std::pair<DeviceIndex, std::optional<BootTime>>> deviceEnds() const;
    /// Whether one of its locks holds this device.
    [[nodiscard]] bool hasLocked(const DeviceUuid& uuid) const;

    friend bool operator==(const Environment&, const Environment&) = default;
};

} // namespace genv::core
