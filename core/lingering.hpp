// SPDX-License-Identifier: LGPL-2.1-or-later
// Lingering: an environment whose last registered process went keeps the devices that its compute
// processes still use (nohup, tmux, a lost SSH session) until the last of them has exited.
//
// The ledger makes the end pending; here a fresh sample is asked for, and the ledger is told which
// processes still use which of the devices. If the driver does not answer in time, the last sample
// decides. If there is none since the environment got its devices, as after a start, it keeps
// everything until the driver answers: a busy device must never be offered as free.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
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

/// How long a fresh sample is waited for.
inline constexpr std::chrono::milliseconds endingSampleDeadline{500};
/// How long an environment lingers before that is told: children that are dying are no news.
inline constexpr std::chrono::milliseconds lingeringToldAfter{2000};

class Lingering {
  public:
    /// All outlive this, and so does the loop's last turn. Sets the ledger's policy: environments
    /// linger where `mayLinger` says so.
    Lingering(Ledger& ledger, Observer& observer, Processes& processes, Scheduler& scheduler,
              const EventHub& events, std::function<bool()> mayLinger);

    /// To be called when the state was found again: takes up the ends that were pending. Whoever
    /// lacks devices meanwhile waits for the first sample, as at any other end.
    void start();

    /// Hears an event of the ledger.
    void onEvent(const Event& event);
    /// An observation was taken and the ledger knows it: decides what waits for the driver.
    void observed(const Observation& observation);

    /// Whether a pending end is about to be decided, so that devices may be free soon.
    [[nodiscard]] bool isSettling() const;
    /// Calls a function once the ends that are pending now are decided, or wait for the driver:
    /// later, and soon after the deadline of a sample at most.
    void whenSettled(std::function<void()> function);

  private:
    /// A pending end of an environment: not of another one that comes under its id, and not a later
    /// end of the same one.
    struct Subject {
        EnvironmentId environment;
        std::uint64_t sequence = 0; ///< the environment's
        std::uint64_t end = 0;
    };
    /// The ends of one turn of the loop; they share a sample.
    struct Round {
        std::vector<Subject> subjects;
        std::vector<std::function<void()>> afterwards;
        std::unique_ptr<Scheduled> deadline;
        bool sampled = false;
        std::size_t undecided = 0; ///< ends whose processes are being pinned
    };
    /// A process that a sample shows on devices of an environment whose end is pending.
    struct User {
        ProcessIdentity process;
        std::set<DeviceUuid> devices;
        std::shared_ptr<const ProcessPin> pin{};
    };
    /// The end of an environment while the processes that still use its devices are pinned.
    struct Decision {
        Subject subject;
        std::shared_ptr<Round> round; ///< null for one that waited for the driver
        std::size_t unpinned = 0;
        bool mustAskAgain = false; ///< a process could not be pinned, and must not be passed over
        std::vector<User> users{}; ///< pinned
    };

    [[nodiscard]] std::shared_ptr<const Observation> lastWorking() const;
    [[nodiscard]] std::vector<ProcessIdentity> knownMembers(const Environment& environment) const;
    [[nodiscard]] std::vector<User> usersOf(const Environment& environment,
                                            const Observation& observation) const;
    [[nodiscard]] const Environment* pending(const Subject& subject) const;
    void add(const Environment& environment);
    void begin();
    void sampled(const std::shared_ptr<Round>& round, bool inTime);
    void decide(const Subject& subject, const Observation& observation,
                const std::shared_ptr<Round>& round);
    void pin(const std::shared_ptr<Decision>& decision, const User& user, Uid owner);
    void pinned(Decision& decision, const User& user, const ProcessRead<PinnedProcess>& read);
    void concludeFor(const Subject& subject, const std::vector<User>& users);
    void conclude(const Decision& decision);
    void settle(const std::shared_ptr<Round>& round);
    void tellLater(const Environment& environment);
    void tellNow(const Subject& subject);

    Ledger& ledger_;
    Observer& observer_;
    Processes& processes_;
    Scheduler& scheduler_;
    const EventHub& events_;
    std::shared_ptr<Round> gathering_;           ///< of this turn; null for none
    std::vector<std::shared_ptr<Round>> rounds_; ///< that are not decided yet, oldest first
    std::vector<Subject> undecided_;             ///< that wait for the driver
    std::shared_ptr<const Observation> working_; ///< the last of a working driver
    /// Environments that linger, by order of creation: for too short a time yet, and those told of.
    std::map<std::uint64_t, std::unique_ptr<Scheduled>> untold_;
    std::set<std::uint64_t> told_;
    std::map<std::uint64_t, std::uint64_t> ends_; ///< the latest of each, by order of creation
    std::uint64_t lastEnd_ = 0;
    std::shared_ptr<bool> lives_ = std::make_shared<bool>(); ///< answers may outlive this
};

} // namespace genv::core
