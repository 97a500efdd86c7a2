// SPDX-License-Identifier: LGPL-2.1-or-later
// The ledger: the set of environments, which is the whole state of genv, and the devices seen
// through it.
//
// Invariants. A change is written, then made, then told: a request whose document cannot be written
// throws and has changed nothing; a fact (an exit, a lost device) is made at once and its document
// is written again later. A device is never given twice unless over-subscription was asked for. An
// environment without a process or kernel does not exist, unless it holds devices and may linger
// (core/lingering.hpp). A child environment holds nothing that its parent does not, and loses what
// its parent loses, by the same change and before it. One thread uses it, the loop's; listeners
// must not change it from within an event.
#pragma once

#include "core/access_guard.hpp"
#include "core/device_table.hpp"
#include "core/environment.hpp"
#include "core/events.hpp"
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

/// What a new environment is made of.
struct NewEnvironment {
    EnvironmentId id;
    Uid uid = 0;
    std::string user;
    Configuration configuration;
    std::vector<RootProcess> processes;
    std::vector<Kernel> kernels;
    bool exempt = false; ///< over a limit, by somebody who may
    /// From when it has what it waits for, if it waits.
    std::optional<std::chrono::seconds> lifetime = std::nullopt;
    std::optional<EnvironmentId> parent = std::nullopt; ///< of a child
};

/// On what terms devices are given.
struct Terms {
    bool exempt = false; ///< over a limit, by somebody who may
    std::optional<std::chrono::seconds> lifetime;
};

/// Which part of a configuration changes; an inner nullopt unsets.
struct ConfigurationChange {
    std::optional<std::optional<std::string>> name;
    std::optional<std::optional<std::uint32_t>> gpus;
    std::optional<std::optional<Bytes>> gpuMemory;
    /// From now. Leases that run are extended to it, never shortened; an environment without any is
    /// refused (requireLease()). Unset: no lease any more.
    std::optional<std::optional<std::chrono::seconds>> lifetime = std::nullopt;
};

/// A Slurm job that begins on this node, or is known better now.
struct NewJob {
    SlurmJobId id = 0;
    Uid uid = 0;
    std::string user;
    std::vector<DeviceUuid> devices;      ///< exactly these, each once
    std::optional<std::string> name = {}; ///< unset: as it is
    std::optional<WallTime> ends = {};    ///< the same
    bool isInferred = false;              ///< no prolog said so
    bool evict = false;                   ///< whoever is no job loses these devices
};

/// Throws Error(NotSupported) for a Slurm job's environment: only Slurm changes it.
void requireNoJob(const Environment& environment);

/// Throws Error(InvalidArgs) for a child, which can have no children, and Error(NoSuchProcess) for
/// one that only keeps the devices that are still in use.
void requireMayHaveChildren(const Environment& environment);

/// Throws Error(NotAttached) unless the environment holds every one of these devices.
void requireAttached(const Environment& environment, const std::vector<DeviceIndex>& indices);

/// Throws Error(InvalidArgs) where neither the environment nor one of its attachments has a lease:
/// an extension must never give an end to what had none.
void requireLease(const Environment& environment);

class Ledger {
  public:
    Ledger(Store& store, const Clock& clock, const EventHub& events);

    // -- reading

    /// The environment with this id, or null. Its address is the same until it has ended, which
    /// EnvironmentRemoved tells.
    [[nodiscard]] const Environment* find(const EnvironmentId& id) const;
    /// The environment with this id. Throws Error(NoSuchEnvironment).
    [[nodiscard]] const Environment& get(const EnvironmentId& id) const;
    /// All environments, oldest first.
    [[nodiscard]] const std::map<std::uint64_t, Environment>& environments() const {
        return environments_;
    }
    [[nodiscard]] const DeviceTable& devices() const { return devices_; }
    /// The environments that hold a device, also one that is not there.
    [[nodiscard]] std::vector<EnvironmentId> holdersOf(const DeviceUuid& uuid) const;
    /// Whether an environment of this user holds a device.
    [[nodiscard]] bool isHeldBy(const DeviceUuid& uuid, Uid user) const;
    /// The device at an index. Throws Error(NoSuchDevice).
    [[nodiscard]] const Device& device(DeviceIndex index) const;
    /// The environment that a process is registered with itself, as a root process or kernel, or
    /// null.
    [[nodiscard]] const Environment* environmentOfRoot(const ProcessIdentity& process) const;
    /// The environment whose end is pending and that a process belonged to, or null.
    [[nodiscard]] const Environment* environmentOfFormer(const ProcessIdentity& process) const;
    /// A process that an environment lingers for leaves it by being registered with another one of
    /// the same owner, such as a program with a second "with" block: what it uses is what it asks
    /// for. That environment as it is then; nothing where no other than `joined` lingers for it.
    [[nodiscard]] std::optional<Environment> leftBy(const ProcessIdentity& process, Uid owner,
                                                    const EnvironmentId& joined) const;
    /// The children of an environment, oldest first.
    [[nodiscard]] std::vector<const Environment*> childrenOf(const EnvironmentId& id) const;
    /// The environment whose child an environment is, or null.
    [[nodiscard]] const Environment* parentOf(const Environment& environment) const {
        return environment.parent ? find(*environment.parent) : nullptr;
    }
    /// Whether an environment is a Slurm job's, or within one that is.
    [[nodiscard]] bool isOfJob(const Environment& environment) const;
    /// The devices that an environment's requests choose from.
    [[nodiscard]] Pool poolOf(const Environment& environment) const {
        return {*this, parentOf(environment)};
    }
    /// The environments of a user, oldest first.
    [[nodiscard]] std::vector<EnvironmentId> environmentsOf(Uid uid) const;
    /// What waits, earliest first: ticket to environment.
    [[nodiscard]] const std::map<std::uint64_t, EnvironmentId>& waits() const { return waits_; }
    /// A waiting request. It must be one of waits().
    [[nodiscard]] const Wait& wait(std::uint64_t ticket) const;
    /// The locks that are held: number to environment.
    [[nodiscard]] const std::map<std::uint64_t, EnvironmentId>& locks() const { return locks_; }
    /// An id for an environment of this process: its pid, suffixed when taken.
    [[nodiscard]] EnvironmentId freeId(Pid pid) const;

    // -- requests: they throw Error and then nothing changed. But for deactivate() by root and
    // startJob() they throw Error(NotSupported) for a Slurm job's environment.

    // A plan that is given to them is one that stillHolds(). A request that waits by it is the
    // environment's last wait then.

    /// Starts an environment, with its devices when a plan is given. Throws what
    /// requireMayHaveChildren() does of its parent.
    void activate(NewEnvironment environment, const std::optional<Plan>& plan, const Actor& actor);
    void attach(const EnvironmentId& id, const Plan& plan, const Actor& actor,
                const Terms& terms = {});
    /// Gives a waiting request what it waits for.
    void grant(std::uint64_t ticket, const Placement& placement);
    /// Detaches the devices at these indices, all when empty. Throws Error(NotAttached).
    void detach(const EnvironmentId& id, const std::vector<DeviceIndex>& indices,
                const Actor& actor);
    /// Takes a device from one environment, or from every one when none is named. Throws
    /// Error(NotAttached).
    void detachDevice(DeviceIndex index, const std::optional<EnvironmentId>& id,
                      const Actor& actor);
    /// `exempt`: over a limit, by somebody who may. Throws Error(DeviceUnavailable) where the lease
    /// of a device that is kept for somebody who still waits would end later.
    void configure(const EnvironmentId& id, const ConfigurationChange& change, const Actor& actor,
                   bool exempt = false);
    /// Registers a process, and attaches devices in the same change when a plan is given. A
    /// process that is registered with this environment already has no effect.
    void addProcess(const EnvironmentId& id, RootProcess process, const Actor& actor,
                    const std::optional<Plan>& plan = std::nullopt, const Terms& terms = {});
    /// The environment ends with its last process or kernel. Throws Error(NoSuchProcess).
    void removeProcess(const EnvironmentId& id, Pid pid, const Actor& actor);
    /// The same for a kernel.
    void addKernel(const EnvironmentId& id, Kernel kernel, const Actor& actor,
                   const std::optional<Plan>& plan = std::nullopt, const Terms& terms = {});
    void removeKernel(const EnvironmentId& id, const std::string& kernel, const Actor& actor);
    /// Ends an environment; one that lingers already goes on when its owner asks.
    void deactivate(const EnvironmentId& id, const Actor& actor);
    /// Starts the environment of a Slurm job; one that is there gets exactly these devices, and
    /// nothing happens where it has them. Jobs share devices. Throws Error(NoSuchDevice),
    /// Error(DeviceUnavailable) where another environment holds one and is not to be evicted, and
    /// Error(AlreadyExists) where the environment is no job's.
    void startJob(const NewJob& wanted);
    /// Returns a number for a request for a lock, larger than those of all earlier requests.
    [[nodiscard]] std::uint64_t newTicket() { return ++lastSequence_; }
    /// Locks every device that an environment holds. The lock's number is the request's ticket.
    void lock(const EnvironmentId& id, std::uint64_t ticket);

    // -- facts: they happened, so they never throw

    /// A pinned process is gone.
    void processExited(const ProcessIdentity& process);
    /// Another process is the kernel that an exited one was; nothing when that is no kernel here.
    void kernelRestarted(const ProcessIdentity& exited, RootProcess process, KernelStarter starter);
    /// A rule takes a device away; nothing when it is gone already.
    void takeAway(const EnvironmentId& id, const DeviceUuid& device, const Cause& cause);
    /// A rule ends an environment; nothing when it is gone already.
    void end(const EnvironmentId& id, const Cause& cause);
    /// What a sample said of an environment whose end is pending: it lingers for these processes
    /// and the devices that they use, or ends when there are none. Nothing when no end is pending.
    void concludeEnd(const EnvironmentId& id, std::vector<RootProcess> users,
                     const std::set<DeviceUuid>& used);
    /// A request waits no longer, and why; the environment that it started ends. Nothing when it
    /// does not wait. `actor`: who ended it, where that is not who asked.
    void endWait(std::uint64_t ticket, const Reason& why,
                 const std::optional<Actor>& actor = std::nullopt);
    /// A lock is released; nothing when it is already.
    void unlock(std::uint64_t number);
    /// A request for the lock of an environment has to wait.
    void waitForLock(const EnvironmentId& id, const LockWait& wait);
    /// A request for a lock waits no longer; nothing when it does not wait.
    void endLockWait(const EnvironmentId& id, std::uint64_t ticket);
    /// A working driver was observed: devices appear, vanish, move, and are well or not.
    void observed(const Observation& observation);
    /// The driver did not answer: what is known is stale, and stays.
    void driverFailed();
    /// An environment that was found in the store, its living processes pinned (core/recovery.hpp);
    /// one without any is over, and only its document goes. `written` is what the store has of it:
    /// it is written again only where it is something else by now.
    void restore(Environment environment, const Environment* written = nullptr);
    /// Numbers that are given from now on are larger than this one.
    void numberFrom(std::uint64_t number) { lastSequence_ = std::max(lastSequence_, number); }
    /// Slurm ends a job at another time; nothing when the job is gone.
    void setJobEnd(const EnvironmentId& id, WallTime end);
    /// These devices are Slurm's from now on, and no others.
    void reserve(const SlurmDevices& devices);
    /// Writes the documents that facts changed and that could not be written yet. Returns whether
    /// all are now.
    bool retryWrites();
    /// The store lost all documents: retryWrites() writes every one again.
    void storeWasLost();

    /// Says of an environment with devices whose last registered process is about to go which
    /// compute processes it is known to have; nothing when it may not linger.
    using LingerPolicy =
        std::function<std::optional<std::vector<ProcessIdentity>>(const Environment&)>;
    /// Without a policy every environment ends with its last process.
    void letLinger(LingerPolicy policy) { lingerPolicy_ = std::move(policy); }
    /// Without a guard nobody is kept from opening a device. It outlives the changes.
    void guardBy(AccessGuard* guard) { guard_ = guard; }
    /// What recovery found, once those of its processes that are gone are removed from it.
    void settleFound(Environment& found, const Environment& written) const;

    /// Told when a fact could not be written, so that somebody calls retryWrites() later.
    void onUnwritten(std::function<void(const std::string& why)> listener) {
        unwritten_ = std::move(listener);
    }

  private:
    friend class Supposition;

    /// `left` is what a process leaves by the same change.
    void apply(std::vector<Environment> nexts, const Cause& cause,
               const std::optional<Environment>& left = std::nullopt);
    /// A wait that ends by itself: its ticket, and why.
    using EndedWait = std::optional<std::pair<std::uint64_t, Cause>>;
    /// `written` is what is written of it, where that is known.
    void applyFact(Environment next, const Cause& cause, const EndedWait& wait = std::nullopt,
                   const Environment* written = nullptr);
    void openTo(const Environment& next);
    void closeUnheld(const Environment& environment,
                     std::span<const Environment> following = {}) noexcept;
    void write(const Environment& next);
    void writeFact(const Environment& next);
    void writeAllOrNone(const std::vector<Environment>& nexts);
    /// `following` are the changes that are committed next.
    void commit(Environment next, const Cause& cause, const EndedWait& wait = std::nullopt,
                std::span<const Environment> following = {});
    [[nodiscard]] static Cause causeFor(const Environment& child, const Cause& cause);
    [[nodiscard]] std::vector<Environment> childrenAfter(std::vector<Environment>& nexts) const;
    void index(Environment& environment, bool present);
    void indexChild(const Environment& environment, bool present);
    void indexProcesses(const Environment& environment, bool present);
    void tellDifference(const Environment& before, const Environment& after, const Cause& cause,
                        const EndedWait& wait);
    void tellWaits(const Environment& before, const Environment& after, const Cause& cause,
                   const EndedWait& ended);
    void tellLocks(const Environment& before, const Environment& after);
    void tellAttachments(const Environment& before, const Environment& after, const Cause& cause);
    void tell(const Event& event) { events_.tell(event); }

    [[nodiscard]] Environment started(NewEnvironment wanted, const std::optional<Plan>& plan,
                                      const Actor& actor);
    [[nodiscard]] Environment joined(const EnvironmentId& id, std::optional<RootProcess> process,
                                     std::optional<Kernel> kernel, const Actor& actor,
                                     const std::optional<Plan>& plan, const Terms& terms);
    void addAttachments(Environment& environment, const Placement& placement, const Terms& terms);
    void addWait(Environment& environment, const AttachRequest& request, const Terms& terms,
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

    void updateDevice(const DeviceSample& sample, WallTime takenAt);
    void placeDevice(const DeviceSample& sample, WallTime takenAt);
    void removeDevice(DeviceIndex index);
    void detachLost(const DeviceUuid& uuid);
    void rememberFacts(const DeviceFacts& facts);
    void setHealth(DeviceIndex index, Health health);
    [[nodiscard]] const Environment* holderFor(const Environment* environment,
                                               const DeviceUuid& device) const;
    void markOccupied(const Observation& observation);
    void markLeft(const EnvironmentId& id, DeviceIndex index);
    void markTaken(const Environment& left, const Environment& taker);
    void lastProcessWent(Environment& next, const Environment& before, bool byOwner) const;
    void processTakenOut(Environment& next, const Actor& actor) const;

    struct OfUser {
        std::set<std::uint64_t> environments; ///< their sequences
        std::size_t processes = 0;            ///< root processes and kernels
        std::size_t jobs = 0;                 ///< of the environments
    };

    Store& store_;
    const Clock& clock_;
    const EventHub& events_;
    std::map<std::uint64_t, Environment> environments_; ///< by order of creation
    DeviceTable devices_;
    SlurmDevices slurmDevices_;
    std::function<void(const std::string& why)> unwritten_;
    LingerPolicy lingerPolicy_;
    AccessGuard* guard_ = nullptr;
    std::set<EnvironmentId> dirty_; ///< documents that facts changed and that are not written
    std::uint64_t lastSequence_ = 0;

    // Derived from environments_, so that nothing is searched for.
    std::unordered_map<EnvironmentId, Environment*> byId_;
    std::map<ProcessIdentity, EnvironmentId> roots_;
    std::map<ProcessIdentity, EnvironmentId> formers_; ///< members of environments whose end pends
    std::map<std::uint64_t, EnvironmentId> waits_;
    std::map<std::uint64_t, EnvironmentId> locks_;
    std::unordered_map<DeviceUuid, std::set<EnvironmentId>> holders_;
    std::unordered_map<Uid, OfUser> users_;
    std::unordered_map<EnvironmentId, std::set<std::uint64_t>> children_; ///< their sequences
};

} // namespace genv::core
