// SPDX-License-Identifier: LGPL-2.1-or-later
// What is known of the processes that use GPUs, from one observation to the next. Each is read anew
// for every observation, unless there are so many that /proc alone would take longer than people
// wait: then those whose turn it is are, and what was read of the others stands for as long as they
// and all their ancestors live, whom pidfds pin so that no pid comes to mean another process.
//
// A process that cannot be read is there all the same, under the uids that the kernel tells without
// waiting, and outside every environment: nobody is spared by the rules who keeps others from
// reading. Its pidfd is kept from one observation to the next, and an identity of the service's own
// with it, so that rules know it again and whoever ends it ends no other. Of one whose environment
// alone cannot be read, what it said before stands.
#pragma once

#include "core/ports/observer.hpp"
#include "service/processes/pin_set.hpp"
#include "service/processes/proc_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace genv::service {

/// Used by one thread. Blocks, but for no longer than ProcBudget says and reading takes; for the
/// worker.
class ObservedProcesses {
  public:
    /// What each process uses, by its pid.
    using Uses = std::map<core::Pid, std::vector<core::ComputeUse>>;

    /// How many known processes are read anew at most for an observation. What else a process may
    /// change without an exit, its uids and what it claims, is seen when its turn comes: of n
    /// processes, within n / mostRead observations.
    static constexpr std::size_t mostRead = 512;

    explicit ObservedProcesses(ProcAccess access, std::size_t mostToRead = mostRead)
        : mostToRead_(mostToRead), reader_(std::move(access)) {}

    /// The processes as they are, by pid; without those that are gone.
    std::vector<core::ComputeProcess> look(const Uses& uses);

  private:
    class Round;
    using Pins = std::vector<std::shared_ptr<const core::ProcessPin>>;
    struct Known {
        core::ComputeProcess process; ///< without its uses
        Pins pins;                    ///< it and all its ancestors
    };
    /// One that could not be read, at least once, and lives.
    struct Unread {
        Pidfd process;
        core::ProcessIdentity identity; ///< the service's own, until it could be read
    };

    void forgetAllBut(const Uses& uses);
    [[nodiscard]] std::set<core::Pid> takeTurns();
    /// Whether there is room for more of the service's descriptors.
    [[nodiscard]] bool mayHold(std::size_t more) const;
    /// A process as far as it is known without reading it; nothing when it is gone.
    std::optional<core::ComputeProcess> standIn(core::Pid pid);
    /// Null when there is no room.
    std::shared_ptr<const core::ProcessPin> pin(Pidfd process, core::ProcessIdentity identity);
    /// Pins ancestors that are not pinned yet, and are who they should be.
    void pinAncestors(const std::vector<Known>& fresh, ProcBudget& budget);
    /// Keeps what was read, with its ancestors pinned, unless one of them is gone.
    void keep(Known fresh);
    /// The pin of a living process, if there is one already: null for none.
    [[nodiscard]] std::shared_ptr<const core::ProcessPin> heldPin(core::Pid pid) const;

    std::size_t mostToRead_;
    ProcReader reader_;
    PinSet pinSet_;
    std::map<core::Pid, std::shared_ptr<const core::ProcessPin>> pins_; ///< those in known_
    std::map<core::Pid, Known> known_;
    std::map<core::Pid, Unread> unread_;
    std::map<core::Pid, ProcClaims> said_; ///< what each claimed when that was read last
    core::Pid turn_ = 0; ///< whose comes next, or the pid after which to look for it
    std::uint64_t lastUnread_ = core::ProcessIdentity::unreadStart;
};

} // namespace genv::service
