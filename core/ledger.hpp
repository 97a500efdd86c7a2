// SPDX-License-Identifier: LGPL-2.1-or-later
// The ledger: the set of environments, which is the whole state of genv, and the devices that they
// hold.
//
// Invariants:
// - A request is written first, then applied, then reported. If the document cannot be written, the
//   request throws and nothing has changed.
// - A fact (an exit, a lost device) is applied immediately; its document is written again later if
//   needed.
// - A device is never granted twice unless over-subscription was requested.
// - An environment without a process or kernel does not exist, unless it holds devices and may
//   linger (core/lingering.hpp).
// - A child environment holds nothing that its parent does not hold. If the parent loses a device,
//   the child loses it before the parent, in the same change.
// - Only the loop's thread uses the ledger. Listeners must not change it while they handle an
//   event.
#pragma once

#include "core/access_guard.hpp"
#include "core/device_table.hpp"
#include "core/environment.hpp"
#include "core/events.hpp"
#include "core/grants_over_limits.hpp"
#include "core/placement.hpp"
#include "core/pool.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/store.hpp"
#include "core/settings.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace genv::core {

/// The parts of a new environment.
struct NewEnvironment {
    EnvironmentId id;
    Uid uid = 0;
    std::string user;
    Configuration configuration;
    std::vector<RootProcess> processes;
    std::vector<Kernel> kernels;
    bool exempt = false; ///< may exceed a limit, approved by a privileged caller
    /// Starts when the environment gets its devices, if it has to wait for them.
    std::optional<std::chrono::seconds> lifetime = std::nullopt;
    std::optional<EnvironmentId> parent = std::nullopt; ///< set for a child environment
    std::int32_t priority = 0;                          ///< of its wait among those of its user
};

/// The terms of a grant.
struct Terms {
    bool exempt = false; ///< may exceed a limit, approved by a privileged caller
    std::optional<std::chrono::seconds> lifetime;
    std::int32_t priority = 0; ///< of a wait among those of its user
};

/// The settings to change; an inner nullopt unsets the setting.
struct ConfigurationChange {
    std::optional<std::optional<std::string>> name;
    std::optional<std::optional<std::uint32_t>> gpus;
    std::optional<std::optional<Bytes>> gpuMemory;
    /// Counted from now. Leases are extended to it, never shortened. An environment without a lease
    /// is refused (requireLease()). An inner nullopt removes the lease.
    std::optional<std::optional<std::chrono::seconds>> lifetime = std::nullopt;
    std::optional<bool> overSubscribable = std::nullopt;
};

/// A Slurm job that starts on this node, or new information about a known job.
struct NewJob {
    SlurmJobId id = 0;
    Uid uid = 0;
    std::string user;
    std::vector<DeviceUuid> devices;      ///< exactly these devices, without duplicates
    std::optional<Sluid> sluid = {};      ///< unset: keep the current SLUID
    std::optional<std::string> name = {}; ///< unset: keep the current name
    std::optional<WallTime> ends = {};    ///< unset: keep the current end
    bool isInferred = false;              ///< found without a report from the prolog
    bool evict = false; ///< detach these devices from environments that do not belong to jobs
};

/// Throws Error(NotSupported) for the environment of a Slurm job, which only Slurm may change.
void requireNoJob(const Environment& environment);

/// Throws Error(InvalidArgs) for a child environment, which cannot have children, and
/// Error(NoSuchProcess) for an environment that only keeps devices in use.
void requireMayHaveChildren(const Environment& environment);

/// Throws Error(NotAttached) unless the environment holds all of these devices.
void requireAttached(const Environment& environment, const std::vector<DeviceIndex>& indices);

/// Throws Error(InvalidArgs) if neither the environment nor one of its attachments has a lease: an
/// extension must not limit a lifetime that had no end.
void requireLease(const Environment& environment);

class Ledger {
  public:
    Ledger(Store& store, const Clock& clock, const EventHub& events);

    // -- reading

    /// Returns the environment with this id, or null. Its address is stable until it ends, which
    /// EnvironmentRemoved reports.
    [[nodiscard]] const Environment* find(const EnvironmentId& id) const;
    /// Returns the environment with this id. Throws Error(NoSuchEnvironment).
    [[nodiscard]] const Environment& get(const EnvironmentId& id) const;
    /// Returns the environment of the Slurm job with this name, or null.
    [[nodiscard]] const Environment* findJob(const SlurmJobName& name) const;
    /// Returns all environments, oldest first.
    [[nodiscard]] const std::map<std::uint64_t, Environment>& environments() const {
        return environments_;
    }
    [[nodiscard]] const DeviceTable& devices() const { return devices_; }
    /// Returns the environments that hold a device, even if the device is missing.
    [[nodiscard]] std::vector<EnvironmentId> holdersOf(const DeviceUuid& uuid) const;
    /// Returns whether an environment of this user holds a device.
    [[nodiscard]] bool isHeldBy(const DeviceUuid& uuid, Uid user) const;
    /// Returns the device at an index. Throws Error(NoSuchDevice).
    [[nodiscard]] const Device& device(DeviceIndex index) const;
    /// Returns the environment in which a process itself is registered, as a root process or
    /// kernel, or null.
    [[nodiscard]] const Environment* environmentOfRoot(const ProcessIdentity& process) const;
    /// Returns the environment that a process belonged to and whose end is pending, or null.
    [[nodiscard]] const Environment* environmentOfFormer(const ProcessIdentity& process) const;
    /// A lingering process leaves its environment when it is registered with another environment of
    /// the same owner, such as a program with a second "with" block. From then on its devices are
    /// those that it requests there. Returns the environment that the process leaves, without that
    /// process, or nothing if it does not linger in an environment other than `joined`.
    [[nodiscard]] std::optional<Environment> departedBy(const ProcessIdentity& process, Uid owner,
                                                        const EnvironmentId& joined) const;
    /// Returns the children of an environment, oldest first.
    [[nodiscard]] std::vector<const Environment*> childrenOf(const EnvironmentId& id) const;
    /// Returns the parent of an environment, or null.
    [[nodiscard]] const Environment* parentOf(const Environment& environment) const {
        return environment.parent ? find(*environment.parent) : nullptr;
    }
    /// Returns whether an environment belongs to a Slurm job, or is a child of one that does.
    [[nodiscard]] bool isOfJob(const Environment& environment) const;
    /// Returns the devices that requests of this environment choose from.
    [[nodiscard]] Pool poolOf(const Environment& environment) const {
        return {*this, parentOf(environment)};
    }
    /// Returns the environments of a user, oldest first.
    [[nodiscard]] std::vector<EnvironmentId> environmentsOf(Uid uid) const;
    /// Returns the waiting requests, oldest first: ticket to environment.
    [[nodiscard]] const std::map<std::uint64_t, EnvironmentId>& waits() const { return waits_; }
    /// Returns a waiting request. The ticket must be one of waits().
    [[nodiscard]] const Wait& wait(std::uint64_t ticket) const;
    /// Returns the held locks: number to environment.
    [[nodiscard]] const std::map<std::uint64_t, EnvironmentId>& locks() const { return locks_; }
    /// Returns a free id for an environment of this process: its PID, with a suffix if that is
    /// taken.
    [[nodiscard]] EnvironmentId freeId(Pid pid) const;

    // -- requests: if they throw Error, nothing has changed. All of them throw Error(NotSupported)
    // for the environment of a Slurm job, except deactivate() by root and startJob().

    // stillHolds() must be true for a plan that is passed to them. If the plan is to wait, the
    // request becomes the last wait of the environment.

    /// Starts an environment, and attaches its devices if a plan is given. Throws the errors of
    /// requireMayHaveChildren() for the parent.
    void activate(NewEnvironment environment, const std::optional<Plan>& plan, const Actor& actor);
    void attach(const EnvironmentId& id, const Plan& plan, const Actor& actor,
                const Terms& terms = {});
    /// Grants the devices of a waiting request, and counts an overtaking for other waiting requests
    /// of different environments.
    void grant(std::uint64_t ticket, const Placement& placement,
               const std::vector<std::uint64_t>& overtaken = {});
    /// Detaches the devices at these indices, or all devices if there are none. Throws
    /// Error(NotAttached).
    void detach(const EnvironmentId& id, const std::vector<DeviceIndex>& indices,
                const Actor& actor);
    /// Detaches a device from one environment, or from every environment if none is given. Throws
    /// Error(NotAttached).
    void detachDevice(DeviceIndex index, const std::optional<EnvironmentId>& id,
                      const Actor& actor);
    /// `exempt`: may exceed a limit, approved by a privileged caller. Throws
    /// Error(DeviceUnavailable) if the lease of a device that is kept for a waiting request would
    /// end later.
    void configure(const EnvironmentId& id, const ConfigurationChange& change, const Actor& actor,
                   bool exempt = false);
    /// Registers a process, and attaches devices in the same change if a plan is given. Has no
    /// effect on a process that is already registered with this environment.
    void addProcess(const EnvironmentId& id, RootProcess process, const Actor& actor,
                    const std::optional<Plan>& plan = std::nullopt, const Terms& terms = {});
    /// Unregisters a process. The environment ends with its last process or kernel. Throws
    /// Error(NoSuchProcess).
    void removeProcess(const EnvironmentId& id, Pid pid, const Actor& actor);
    /// Registers a kernel, as addProcess() does a process.
    void addKernel(const EnvironmentId& id, Kernel kernel, const Actor& actor,
                   const std::optional<Plan>& plan = std::nullopt, const Terms& terms = {});
    void removeKernel(const EnvironmentId& id, const std::string& kernel, const Actor& actor);
    /// Ends an environment. If the owner ends an environment that already lingers, it continues to
    /// linger.
    void deactivate(const EnvironmentId& id, const Actor& actor);
    /// Starts the environment of a Slurm job. An existing environment gets exactly these devices;
    /// nothing happens if it has them already. An environment of another run of the job ends. Jobs
    /// can share devices. Throws Error(NoSuchDevice), Error(DeviceUnavailable) if another
    /// environment holds a device and is not to be evicted, and Error(AlreadyExists) if the
    /// environment does not belong to a job.
    void startJob(const NewJob& wanted);
    /// Returns a number for a lock request, larger than the numbers of all earlier requests.
    [[nodiscard]] std::uint64_t newTicket() { return ++lastSequence_; }
    /// Locks every device that an environment holds. The number of the lock is the ticket of its
    /// request.
    void lock(const EnvironmentId& id, std::uint64_t ticket);

    // -- facts: events that already happened, so these functions never throw

    /// Handles the exit of a pinned process.
    void processExited(const ProcessIdentity& process);
    /// Replaces the process of a kernel after a restart. Does nothing if `exited` is not a kernel
    /// in the ledger.
    void kernelRestarted(const ProcessIdentity& exited, RootProcess process, KernelStarter starter);
    /// Detaches a device on behalf of a rule. Does nothing if it is already detached.
    void takeAway(const EnvironmentId& id, const DeviceUuid& device, const Cause& cause);
    /// Ends an environment on behalf of a rule. Does nothing if it has already ended.
    void end(const EnvironmentId& id, const Cause& cause);
    /// Marks these grants as over a limit, and no others. Returns the environments with a new mark.
    std::vector<EnvironmentId> markOverLimits(const GrantsOverLimits& over);
    /// Applies the result of a sample to an environment whose end is pending. The environment
    /// lingers for these processes and the devices that they use, or ends if there are none. Does
    /// nothing if no end is pending.
    void concludeEnd(const EnvironmentId& id, std::vector<RootProcess> users,
                     const std::set<DeviceUuid>& used);
    /// Ends the wait of a request, with the reason. If the request started its environment, the
    /// environment ends. Does nothing if the request does not wait. `actor`: the user who ended the
    /// wait, if it is not the one who made the request.
    void endWait(std::uint64_t ticket, const Reason& why,
                 const std::optional<Actor>& actor = std::nullopt);
    /// Records since when a waiting request is the next one of its user, if it is.
    void noteFirst(std::uint64_t ticket, const std::optional<BootTime>& since);
    /// Records whether a quota holds a waiting request back. Does nothing if nothing changes.
    void holdBack(std::uint64_t ticket, bool isHeld);
    /// Releases a lock. Does nothing if it is already released.
    void unlock(std::uint64_t number);
    /// Records a lock request that has to wait.
    void waitForLock(const EnvironmentId& id, const LockWait& wait);
    /// Removes a waiting lock request. Does nothing if it does not wait.
    void endLockWait(const EnvironmentId& id, std::uint64_t ticket);
    /// Processes an observation of a working driver: devices appear, vanish, change their index or
    /// their health.
    void observed(const Observation& observation);
    /// Marks the devices as stale, since the driver did not answer. Their last known data stay.
    void driverFailed();
    /// Restores an environment from the store, with its living processes pinned
    /// (core/recovery.hpp). If no process is alive, the environment is over and only its document
    /// is removed. `written` is the state in the store: the document is only written again if the
    /// state differs from it.
    void restore(Environment environment, const Environment* written = nullptr);
    /// Makes all new numbers larger than this one.
    void numberFrom(std::uint64_t number) { lastSequence_ = std::max(lastSequence_, number); }
    /// Changes when Slurm ends a job. Does nothing if the job is gone.
    void setJobEnd(const EnvironmentId& id, WallTime end);
    /// Records the SLUID of a job. Does nothing if the job is gone or has one.
    void setJobSluid(SlurmJobId job, Sluid sluid);
    /// Reserves these devices for Slurm, and no others.
    void reserve(const SlurmDevices& devices);
    /// Writes the pending documents of facts. Returns whether all of them are written now.
    bool retryWrites();
    /// Handles the loss of all documents in the store: retryWrites() writes every document again.
    void storeWasLost();

    /// Returns the known compute processes of an environment with devices whose last registered
    /// process is about to go, or nothing if the environment may not linger.
    using LingerPolicy =
        std::function<std::optional<std::vector<ProcessIdentity>>(const Environment&)>;
    /// Sets the policy. Without one, every environment ends with its last process.
    void letLinger(LingerPolicy policy) { lingerPolicy_ = std::move(policy); }
    /// Sets the guard. Without one, nobody is prevented from opening a device. The guard must
    /// outlive all changes.
    void guardBy(AccessGuard* guard) { guard_ = guard; }
    /// Settles the end of an environment that recovery found, after the removal of its processes
    /// that are gone: without a registered process it ends, or its end becomes pending.
    void settleFound(Environment& found, const Environment& written) const;

    /// Sets the callback for a fact that could not be written; its owner must call retryWrites()
    /// later.
    void onUnwritten(std::function<void(const std::string& why)> listener) {
        unwritten_ = std::move(listener);
    }
    /// Sets the callback before a document is written in which an environment holds less. If the
    /// service is killed after the write, there is no other trace of the holding.
    void beforeDetach(std::function<void(const Environment& before)> listener) {
        detaching_ = std::move(listener);
    }

  private:
    friend class Supposition;

    /// `departed`: the environment that a process leaves in the same change.
    void apply(std::vector<Environment> nexts, const Cause& cause,
               const std::optional<Environment>& departed = std::nullopt);
    /// The ticket of a wait that ends by itself, with the cause.
    using EndedWait = std::optional<std::pair<std::uint64_t, Cause>>;
    /// `written`: the stored state of the environment, if known.
    void applyFact(Environment next, const Cause& cause, const EndedWait& wait = std::nullopt,
                   const Environment* written = nullptr);
    void openTo(const Environment& next);
    void closeUnheld(const Environment& environment,
                     std::span<const Environment> following = {}) noexcept;
    void write(const Environment& next);
    void writeFact(const Environment& next);
    void writeAllOrNone(const std::vector<Environment>& nexts);
    /// `following`: the changes that are committed next.
    void commit(Environment next, const Cause& cause, const EndedWait& wait = std::nullopt,
                std::span<const Environment> following = {});
    [[nodiscard]] static Cause causeFor(const Environment& child, const Cause& cause);
    [[nodiscard]] std::vector<Environment> childrenAfter(std::vector<Environment>& nexts) const;
    void index(Environment& environment, bool present);
    void indexChild(const Environment& environment, bool present);
    void indexProcesses(const Environment& environment, bool present);
    void emitDifference(const Environment& before, const Environment& after, const Cause& cause,
                        const EndedWait& wait);
    void emitWaits(const Environment& before, const Environment& after, const Cause& cause,
                   const EndedWait& ended);
    void emitLocks(const Environment& before, const Environment& after);
    void emitAttachments(const Environment& before, const Environment& after, const Cause& cause);
    void emit(const Event& event) { events_.emit(event); }

    [[nodiscard]] Environment started(NewEnvironment wanted, const std::optional<Plan>& plan,
                                      const Actor& actor);
    [[nodiscard]] Environment joined(const EnvironmentId& id, std::optional<RootProcess> process,
                                     std::optional<Kernel> kernel, const Actor& actor,
                                     const std::optional<Plan>& plan, const Terms& terms);
    void addAttachments(Environment& environment, const Placement& placement, const Terms& terms);
    void addWait(Environment& environment, const PlannedWait& plan, const Terms& terms,
                 const Actor& actor, bool startsEnvironment);
    void carryOut(Environment& environment, const Plan& plan, const Terms& terms,
                  const Actor& actor);
    void join(const EnvironmentId& id, std::optional<RootProcess> process,
              std::optional<Kernel> kernel, const Actor& actor, const std::optional<Plan>& plan,
              const Terms& terms);
    [[nodiscard]] Lease leaseFor(std::chrono::seconds lifetime) const;
    void extend(Environment& environment, std::chrono::seconds lifetime) const;
    void requireNoLongerThanKept(const Environment& before, const Environment& after) const;
    void requireUnregistered(const EnvironmentId& id, const ProcessIdentity& process) const;
    void requireRoom(Uid uid, Uid actor, std::size_t environments, std::size_t processes) const;

    [[nodiscard]] std::vector<Environment> evictedFor(const NewJob& wanted) const;
    [[nodiscard]] Environment startedJob(const NewJob& wanted);
    void giveToJob(Environment& environment, const DeviceUuid& uuid);
    void insertDevice(Device device);
    void indexJob(const Environment& environment, bool present);

    void updateDevice(const DeviceSample& sample, WallTime takenAt);
    void placeDevice(const DeviceSample& sample, WallTime takenAt);
    void removeDevice(DeviceIndex index);
    void detachLost(const DeviceUuid& uuid);
    void rememberFacts(const DeviceFacts& facts);
    void setHealth(DeviceIndex index, Health health);
    [[nodiscard]] const Environment* holderFor(const Environment* environment,
                                               const DeviceUuid& device) const;
    void judgeMemory(const DeviceSample& sample, BootTime began);
    void markOccupied(const Observation& observation);
    void markDetached(const EnvironmentId& id, DeviceIndex index);
    void markTaken(const Environment& departed, const Environment& taker);
    void lastProcessWent(Environment& next, const Environment& before, bool byOwner) const;
    void processTakenOut(Environment& next, const Actor& actor) const;

    struct OfUser {
        std::set<std::uint64_t> environments; ///< their sequence numbers
        std::size_t processes = 0;            ///< number of root processes and kernels
        std::size_t jobs = 0;                 ///< number of environments that belong to jobs
    };

    Store& store_;
    const Clock& clock_;
    const EventHub& events_;
    std::map<std::uint64_t, Environment> environments_; ///< by order of creation
    DeviceTable devices_;
    SlurmDevices slurmDevices_;
    std::function<void(const std::string& why)> unwritten_;
    std::function<void(const Environment& before)> detaching_;
    LingerPolicy lingerPolicy_;
    AccessGuard* guard_ = nullptr;
    std::set<EnvironmentId>
        dirty_; ///< environments whose documents a fact changed and that are not written yet
    std::uint64_t lastSequence_ = 0;

    // Indexes derived from environments_, to avoid searches.
    std::unordered_map<EnvironmentId, Environment*> byId_;
    std::map<Sluid, EnvironmentId> sluids_; ///< of jobs
    std::map<ProcessIdentity, EnvironmentId> roots_;
    std::map<ProcessIdentity, EnvironmentId>
        formers_; ///< members of environments whose end is pending
    std::map<std::uint64_t, EnvironmentId> waits_;
    std::map<std::uint64_t, EnvironmentId> locks_;
    std::unordered_map<DeviceUuid, std::set<EnvironmentId>> holders_;
    std::unordered_map<Uid, OfUser> users_;
    std::unordered_map<EnvironmentId, std::set<std::uint64_t>>
        children_; ///< their sequence numbers
};

} // namespace genv::core
