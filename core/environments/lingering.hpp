// SPDX-License-Identifier: LGPL-2.1-or-later
// Lingering: an environment whose last registered process exited keeps the devices that its compute
// processes still use (nohup, tmux, a lost SSH session) until the last of them has exited.
//
// The ledger marks the end as pending. This class requests a new sample, and passes the processes
// that still use devices to the ledger. If the driver does not answer in time, the last sample
// decides. If there has been no sample since the environment got its devices, as after a start, it
// keeps everything until the driver answers: a busy device must never be offered as free.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/processes.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace genv::core {

/// The timeout for a new sample.
inline constexpr std::chrono::milliseconds endingSampleDeadline{500};
/// How long an environment must linger before that is reported. This skips child processes that are
/// just exiting.
inline constexpr std::chrono::milliseconds lingeringReportDelay{2000};

class Lingering {
  public:
    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop. Sets the ledger's policy: environments linger if `mayLinger` returns true.
    Lingering(Ledger& ledger, Observer& observer, Processes& processes, Scheduler& scheduler,
              const EventHub& events, std::function<bool()> mayLinger);

    /// Resumes the ends that were pending in the restored state. Requests that lack devices wait
    /// for the first sample meanwhile, as with any other end.
    void start();

    /// Handles an event of the ledger.
    void onEvent(const Event& event);
    /// Processes an observation that the ledger already knows. Decides the ends that wait for the
    /// driver.
    void observed(const Observation& observation);

    /// Returns whether a pending end is about to be decided, so that devices may become free soon.
    [[nodiscard]] bool isSettling() const;
    /// Calls a function once each end that is pending now is decided, or waits for the driver. The
    /// call is never made from within this function, and comes soon after the timeout of a sample
    /// at the latest.
    void whenSettled(std::function<void()> function);

  private:
    /// One pending end of one environment. It does not refer to a later environment with the same
    /// id, nor to a later end of the same environment.
    struct Subject {
        EnvironmentId environment;
        std::uint64_t sequence = 0; ///< of the environment
        std::uint64_t end = 0;
    };
    /// The ends of one iteration of the loop. They share a sample.
    struct Round {
        std::vector<Subject> subjects;
        std::vector<std::function<void()>> afterwards;
        std::unique_ptr<Scheduled> deadline;
        bool sampled = false;
        std::size_t undecided = 0; ///< number of ends whose processes are still being pinned
    };
    /// A process that uses devices, according to a sample, of an environment whose end is pending.
    struct User {
        ProcessIdentity process;
        std::set<DeviceUuid> devices;
        std::shared_ptr<const ProcessPin> pin{};
    };
    /// An end while the processes that still use the environment's devices are being pinned.
    struct Decision {
        Subject subject;
        std::shared_ptr<Round> round; ///< null for an end that waited for the driver
        std::size_t unpinned = 0;
        bool mustAskAgain = false; ///< a process could not be pinned and must not be ignored
        std::vector<User> users{}; ///< pinned processes
    };

    [[nodiscard]] std::shared_ptr<const Observation> lastWorking() const;
    [[nodiscard]] std::vector<ProcessIdentity>
    knownMembers(const EnvironmentRecord& environment) const;
    [[nodiscard]] std::vector<User> usersOf(const EnvironmentRecord& environment,
                                            const Observation& observation) const;
    [[nodiscard]] const EnvironmentRecord* pending(const Subject& subject) const;
    void add(const EnvironmentRecord& environment);
    void begin();
    void sampled(const std::shared_ptr<Round>& round, bool inTime);
    void decide(const Subject& subject, const Observation& observation,
                const std::shared_ptr<Round>& round);
    void pin(const std::shared_ptr<Decision>& decision, const User& user, Uid owner);
    void pinned(Decision& decision, const User& user, const ProcessRead<PinnedProcess>& read);
    void concludeFor(const Subject& subject, const std::vector<User>& users);
    void conclude(const Decision& decision);
    void settle(const std::shared_ptr<Round>& round);
    void reportLater(const EnvironmentRecord& environment);
    void reportNow(const Subject& subject);

    Ledger& ledger_;
    Observer& observer_;
    Processes& processes_;
    Scheduler& scheduler_;
    const EventHub& events_;
    std::shared_ptr<Round> gathering_; ///< of the current iteration of the loop; null for none
    std::vector<std::shared_ptr<Round>> rounds_; ///< not decided yet, oldest first
    std::vector<Subject> undecided_;             ///< ends that wait for the driver
    std::shared_ptr<const Observation> working_; ///< the last observation of a working driver
    /// Lingering environments by order of creation: those not yet reported, and those already
    /// reported.
    std::map<std::uint64_t, std::unique_ptr<Scheduled>> unreported_;
    std::set<std::uint64_t> reported_;
    std::map<std::uint64_t, std::uint64_t>
        ends_; ///< the latest end of each environment, by order of creation
    std::uint64_t lastEnd_ = 0;
    std::shared_ptr<bool> lives_ =
        std::make_shared<bool>(); ///< expires with this object, so that late replies are dropped
};

} // namespace genv::core
