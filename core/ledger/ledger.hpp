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
// - An environment without a process or Jupyter kernel does not exist, unless it holds devices and
//   may linger (core/environments/lingering.hpp).
// - A child environment holds nothing that its parent does not hold. If the parent loses a device,
//   the child loses it before the parent, in the same change.
// - Only the loop's thread uses the ledger. Listeners must not change it while they handle an
//   event.
#pragma once

#include "core/ledger/access_guard.hpp"
#include "core/ledger/events.hpp"
#include "core/ledger/grants_over_limits.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/model/environment.hpp"
#include "core/placement/placement.hpp"
#include "core/ports/clock.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/store.hpp"
#include "core/settings/settings.hpp"

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
    EnvironmentConfiguration configuration;
    std::vector<RootProcess> processes;
    std::vector<JupyterKernel> jupyterKernels;
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
    std::int32_t priority = 0;                             ///< of a wait among those of its user
    std::optional<Preemptible> preemptible = std::nullopt; ///< of its environment, from now on
};

/// The settings to change; an inner nullopt unsets the setting.
struct EnvironmentConfigurationChange {
    std::optional<std::optional<std::string>> name;
    std::optional<std::optional<std::uint32_t>> gpus;
    std::optional<std::optional<Bytes>> gpuMemory;
    /// Counted from now. Leases are extended to it, never shortened. An environment without a lease
    /// is refused (requireLease()). An inner nullopt removes the lease.
    std::optional<std::optional<std::chrono::seconds>> lifetime = std::nullopt;
    std::optional<bool> overSubscribable = std::nullopt;
    std::optional<Preemptible> preemptible = std::nullopt;
};

/// A Slurm job that starts on this node, or new information about a known job.
struct NewSlurmJob {
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
void requireNoJob(const EnvironmentRecord& environment);

/// Throws Error(InvalidArgs) for a child environment, which cannot have children, and
/// Error(NoSuchProcess) for an environment that only keeps devices in use.
void requireMayHaveChildren(const EnvironmentRecord& environment);

/// Throws Error(NotAttached) unless the environment holds all of these devices.
void requireAttached(const EnvironmentRecord& environment, const std::vector<DeviceIndex>& indices);

/// Throws Error(InvalidArgs) if neither the environment nor one of its attachments has a lease: an
/// extension must not limit a lifetime that had no end.
void requireLease(const EnvironmentRecord& environment);

/// Throws Error(Busy) while the environment is parked, or on its way there or back.
void requireNotParking(const EnvironmentRecord& environment);

class Ledger : public LedgerView {
  public:
    Ledger(Store& store, const Clock& clock, const EventHub& events);

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
    void configure(const EnvironmentId& id, const EnvironmentConfigurationChange& change,
                   const Actor& actor, bool exempt = false);
    /// Registers a process, and attaches devices in the same change if a plan is given. Has no
    /// effect on a process that is already registered with this environment.
    void addProcess(const EnvironmentId& id, RootProcess process, const Actor& actor,
                    const std::optional<Plan>& plan = std::nullopt, const Terms& terms = {});
    /// Unregisters a process. The environment ends with its last process or Jupyter kernel. Throws
    /// Error(NoSuchProcess).
    void removeProcess(const EnvironmentId& id, Pid pid, const Actor& actor);
    /// Registers a Jupyter kernel, as addProcess() does a process.
    void addJupyterKernel(const EnvironmentId& id, JupyterKernel jupyterKernel, const Actor& actor,
                          const std::optional<Plan>& plan = std::nullopt, const Terms& terms = {});
    void removeJupyterKernel(const EnvironmentId& id, const std::string& jupyterKernel,
                             const Actor& actor);
    /// Ends an environment. If the owner ends an environment that already lingers, it continues to
    /// linger.
    void deactivate(const EnvironmentId& id, const Actor& actor);
    /// Starts the environment of a Slurm job. An existing environment gets exactly these devices;
    /// nothing happens if it has them already. An environment of another run of the job ends. Jobs
    /// can share devices. Throws Error(NoSuchDevice), Error(DeviceUnavailable) if another
    /// environment holds a device and is not to be evicted, and Error(AlreadyExists) if the
    /// environment does not belong to a job.
    void startJob(const NewSlurmJob& wanted);
    /// Returns a number for a lock request, larger than the numbers of all earlier requests.
    [[nodiscard]] std::uint64_t newTicket() { return ++lastSequence_; }
    /// Locks every device that an environment holds. The number of the lock is the ticket of its
    /// request.
    void lock(const EnvironmentId& id, std::uint64_t ticket);

    // -- parking (core/parking/): the steps, each of which is written before it is taken

    /// Begins to park an environment with these processes. A request.
    void beginParking(const EnvironmentId& id, std::vector<ParkedProcess> processes,
                      const Actor& actor, const ParkOptions& options = {});
    /// Replaces the processes that are being parked. A request.
    void setParked(const EnvironmentId& id, std::vector<ParkedProcess> processes);
    /// Detaches the devices of an environment whose processes have all moved. One that was parked
    /// for others waits for its devices from then on. A request.
    void concludeParking(const EnvironmentId& id);
    /// Attaches the devices of a parked environment again, or lets the request wait. Throws
    /// Error(NotParked). A request.
    void resume(const EnvironmentId& id, const Plan& plan, const Actor& actor,
                const Terms& terms = {});
    /// Turns the parking back. A fact.
    void undoParking(const EnvironmentId& id, const std::string& problem);
    /// All processes go on: the environment is active again. A fact.
    void concludeResume(const EnvironmentId& id);
    /// These processes cannot go on, since their devices were lost: the environment is parked
    /// again, for them. A fact.
    void parkAgain(const EnvironmentId& id, const std::vector<ProcessIdentity>& stranded,
                   const std::string& problem);
    /// Removes a process that is lost, or is not parked any more. A fact.
    void dropParked(const EnvironmentId& id, const ProcessIdentity& process);
    // -- takings (core/loans/)

    /// Begins or changes the taking of a waiting request. `overtaken`: the tickets of requests that
    /// are passed. A request.
    void take(std::uint64_t ticket, const PendingTaking& taking,
              const std::vector<std::uint64_t>& overtaken);
    /// Changes or ends a taking. Does nothing if the request does not wait. A fact.
    void setTaking(std::uint64_t ticket, const std::optional<PendingTaking>& taking);

    /// Sets or clears the problem. A fact.
    void setParkingProblem(const EnvironmentId& id, const std::string& problem);
    /// Sets or clears that parking an environment for others failed. It is set for a preemptible
    /// environment only. A fact.
    void setLoanFailed(const EnvironmentId& id, bool failed);

    // -- facts: events that already happened, so these functions never throw

    /// Handles the exit of a pinned process.
    void processExited(const ProcessIdentity& process);
    /// Replaces the process of a Jupyter kernel after a restart. Does nothing if `exited` is not a
    /// kernel in the ledger.
    void jupyterKernelRestarted(const ProcessIdentity& exited, RootProcess process,
                                JupyterKernelStarter starter);
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
        std::function<std::optional<std::vector<ProcessIdentity>>(const EnvironmentRecord&)>;
    /// Sets the policy. Without one, every environment ends with its last process.
    void letLinger(LingerPolicy policy) { lingerPolicy_ = std::move(policy); }
    /// Sets the guard. Without one, nobody is prevented from opening a device. The guard must
    /// outlive all changes.
    void guardBy(AccessGuard* guard) { guard_ = guard; }

    /// Sets the callback for a fact that could not be written; its owner must call retryWrites()
    /// later.
    void onUnwritten(std::function<void(const std::string& why)> listener) {
        unwritten_ = std::move(listener);
    }
    /// Sets the callback before a document is written in which an environment holds less. If the
    /// service is killed after the write, there is no other trace of the holding.
    void beforeDetach(std::function<void(const EnvironmentRecord& before)> listener) {
        detaching_ = std::move(listener);
    }

  private:
    friend class LedgerRecovery;
    friend class Supposition;

    /// `departed`: the environment that a process leaves in the same change.
    void apply(std::vector<EnvironmentRecord> nexts, const Cause& cause,
               const std::optional<EnvironmentRecord>& departed = std::nullopt);
    /// The ticket of a wait that ends by itself, with the cause.
    using EndedWait = std::optional<std::pair<std::uint64_t, Cause>>;
    /// `written`: the stored state of the environment, if known.
    void applyFact(EnvironmentRecord next, const Cause& cause, const EndedWait& wait = std::nullopt,
                   const EnvironmentRecord* written = nullptr);
    void openTo(const EnvironmentRecord& next);
    void closeUnheld(const EnvironmentRecord& environment,
                     std::span<const EnvironmentRecord> following = {}) noexcept;
    void write(const EnvironmentRecord& next);
    void writeFact(const EnvironmentRecord& next);
    void writeAllOrNone(const std::vector<EnvironmentRecord>& nexts);
    /// `following`: the changes that are committed next.
    void commit(EnvironmentRecord next, const Cause& cause, const EndedWait& wait = std::nullopt,
                std::span<const EnvironmentRecord> following = {});
    [[nodiscard]] static Cause causeFor(const EnvironmentRecord& child, const Cause& cause);
    [[nodiscard]] std::vector<EnvironmentRecord>
    childrenAfter(std::vector<EnvironmentRecord>& nexts) const;
    void index(EnvironmentRecord& environment, bool present);
    void indexChild(const EnvironmentRecord& environment, bool present);
    void indexProcesses(const EnvironmentRecord& environment, bool present);
    void emitDifference(const EnvironmentRecord& before, const EnvironmentRecord& after,
                        const Cause& cause, const EndedWait& wait);
    void emitWaits(const EnvironmentRecord& before, const EnvironmentRecord& after,
                   const Cause& cause, const EndedWait& ended);
    void emitLocks(const EnvironmentRecord& before, const EnvironmentRecord& after);
    void emitAttachments(const EnvironmentRecord& before, const EnvironmentRecord& after,
                         const Cause& cause);
    void emit(const Event& event) { events_.emit(event); }

    [[nodiscard]] EnvironmentRecord started(NewEnvironment wanted, const std::optional<Plan>& plan,
                                            const Actor& actor);
    [[nodiscard]] EnvironmentRecord joined(const EnvironmentId& id,
                                           std::optional<RootProcess> process,
                                           std::optional<JupyterKernel> jupyterKernel,
                                           const Actor& actor, const std::optional<Plan>& plan,
                                           const Terms& terms);
    void addAttachments(EnvironmentRecord& environment, const Placement& placement,
                        const Terms& terms);
    void addWait(EnvironmentRecord& environment, const PlannedWait& plan, const Terms& terms,
                 const Actor& actor, bool startsEnvironment);
    void carryOut(EnvironmentRecord& environment, const Plan& plan, const Terms& terms,
                  const Actor& actor);
    void join(const EnvironmentId& id, std::optional<RootProcess> process,
              std::optional<JupyterKernel> jupyterKernel, const Actor& actor,
              const std::optional<Plan>& plan, const Terms& terms);
    [[nodiscard]] Lease leaseFor(std::chrono::seconds lifetime) const;
    void extend(EnvironmentRecord& environment, std::chrono::seconds lifetime) const;
    void requireNoLongerThanKept(const EnvironmentRecord& before,
                                 const EnvironmentRecord& after) const;
    void requireUnregistered(const EnvironmentId& id, const ProcessIdentity& process) const;
    void requireRoom(Uid uid, Uid actor, std::size_t environments, std::size_t processes) const;

    [[nodiscard]] std::vector<EnvironmentRecord> evictedFor(const NewSlurmJob& wanted) const;
    [[nodiscard]] EnvironmentRecord startedJob(const NewSlurmJob& wanted);
    void giveToJob(EnvironmentRecord& environment, const DeviceUuid& uuid);
    void insertDevice(TableDevice device);
    void indexJob(const EnvironmentRecord& environment, bool present);

    void updateDevice(const DeviceSample& sample, WallTime takenAt);
    void placeDevice(const DeviceSample& sample, WallTime takenAt);
    void removeDevice(DeviceIndex index);
    void detachLost(const DeviceUuid& uuid);
    void rememberFacts(const DeviceFacts& facts);
    void setHealth(DeviceIndex index, Health health);
    [[nodiscard]] const EnvironmentRecord* holderFor(const EnvironmentRecord* environment,
                                                     const DeviceUuid& device) const;
    void judgeMemory(const DeviceSample& sample, BootTime began);
    void markOccupied(const Observation& observation);
    void markDetached(const EnvironmentId& id, DeviceIndex index, bool isParked);
    void exitedFrom(const EnvironmentRecord& environment, const ProcessIdentity& process);
    void indexParked(const EnvironmentRecord& environment, bool present);
    static void lingerWith(EnvironmentRecord& environment,
                           const std::vector<ParkedProcess>& processes);
    void settleResumed(EnvironmentRecord& environment) const;
    void awaitResume(EnvironmentRecord& environment);
    void changeParking(const EnvironmentId& id,
                       const std::function<void(EnvironmentRecord&)>& change);
    void markTaken(const EnvironmentRecord& departed, const EnvironmentRecord& taker);
    void lastProcessWent(EnvironmentRecord& next, const EnvironmentRecord& before,
                         bool byOwner) const;
    void processTakenOut(EnvironmentRecord& next, const Actor& actor) const;

    Store& store_;
    const Clock& clock_;
    const EventHub& events_;
    SlurmDevices slurmDevices_;
    std::function<void(const std::string& why)> unwritten_;
    std::function<void(const EnvironmentRecord& before)> detaching_;
    LingerPolicy lingerPolicy_;
    AccessGuard* guard_ = nullptr;
    std::set<EnvironmentId>
        dirty_; ///< environments whose documents a fact changed and that are not written yet
    std::uint64_t lastSequence_ = 0;
};

} // namespace genv::core
