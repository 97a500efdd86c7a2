// SPDX-License-Identifier: LGPL-2.1-or-later
// What is known of the processes that use GPUs, from one observation to the next. Each is read anew
// for every observation, unless there are so many that /proc alone would take longer than people
// wait: then those whose turn it is are, and what was read of the others stands for as long as they
// and all their ancestors live, whom pidfds pin so that no pid comes to mean another process.
#pragma once

#include "core/ports/observer.hpp"
#include "service/process_table.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace genv::service {

/// Used by one thread. Blocks; for the worker.
class ObservedProcesses {
  public:
    /// What each process uses, by its pid.
    using Uses = std::map<core::Pid, std::vector<core::ComputeUse>>;

    /// How many known processes are read anew at most for an observation. What else a process may
    /// change without an exit, its uids and what it claims, is seen when its turn comes: of n
    /// processes, within n / mostRead observations.
    static constexpr std::size_t mostRead = 512;

    explicit ObservedProcesses(std::size_t mostToRead = mostRead) : mostToRead_(mostToRead) {}

    /// The processes as they are, by pid; without those that are gone.
    std::vector<core::ComputeProcess> look(const Uses& uses);

  private:
    using Pins = std::vector<std::shared_ptr<const core::ProcessPin>>;
    struct Known {
        core::ComputeProcess process; ///< without its uses
        Pins pins;                    ///< it and, once it is kept, all its ancestors
    };

    void forgetAllBut(const Uses& uses);
    [[nodiscard]] std::set<core::Pid> takeTurns();
    /// What is known of a process, read anew if it is its turn; null for nothing.
    const core::ComputeProcess* known(core::Pid pid, bool isItsTurn);
    /// Reads a process that is not known, and pins it; nothing when it is gone.
    std::optional<Known> read(core::Pid pid);
    /// Keeps what was read, with its ancestors pinned, unless that would take too many of the
    /// service's descriptors, or an ancestor is gone.
    void keep(Known seen);
    /// The pin of a living process, if there is one already: null for none.
    [[nodiscard]] std::shared_ptr<const core::ProcessPin> heldPin(core::Pid pid) const;

    std::size_t mostToRead_;
    ProcessTable table_;
    std::map<core::Pid, std::shared_ptr<const core::ProcessPin>> pins_; ///< those in known_
    std::map<core::Pid, Known> known_;
    core::Pid turn_ = 0; ///< whose comes next, or the pid after which to look for it
};

} // namespace genv::service
