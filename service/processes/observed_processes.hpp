// SPDX-License-Identifier: LGPL-2.1-or-later
// What is known of the processes that use GPUs, from one observation to the next. Each is read anew
// for every observation, unless there are so many that /proc alone would take longer than people
// wait: then those whose turn it is are, and what was read of the others stands for as long as they
// live. A pidfd holds each, so that no pid comes to mean another process meanwhile.
//
// A process that cannot be read is there all the same, under the uids that the kernel tells without
// waiting, and outside every environment: nobody is spared by the rules who keeps others from
// reading. It keeps one identity, so that rules know it again and whoever ends it ends no other. Of
// one whose environment alone cannot be read, what it said before stands.
#pragma once

#include "core/ports/observer.hpp"
#include "service/posix/pidfd.hpp"
#include "service/processes/proc_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
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
    /// change without an exit, its uids, its parent and what it claims, is seen when its turn
    /// comes: of n processes, within n / mostRead observations.
    static constexpr std::size_t mostRead = 512;

    explicit ObservedProcesses(ProcAccess access, std::size_t mostToRead = mostRead)
        : mostToRead_(mostToRead), reader_(std::move(access)) {}

    /// The processes as they are, by pid; without those that are gone.
    std::vector<core::ComputeProcess> look(const Uses& uses);

  private:
    struct Known {
        std::optional<Pidfd> held;      ///< nothing where no descriptor was left
        core::ComputeProcess process;   ///< without its uses
        bool isRead = false;            ///< false: the process stands under what the kernel tells
        std::optional<ProcClaims> said; ///< what it claimed when that was read last
    };
    using KnownByPid = std::map<core::Pid, Known>;

    void forgetAllBut(const Uses& uses);
    /// Holds the processes that are not known yet, before they are read.
    void hold(const Uses& uses);
    /// The processes that are read this time: the new ones, and as many others as may be.
    std::set<core::Pid> takeTurns();
    /// False when it is gone.
    bool absorb(Known& known, const ProcReading& lineage, const ProcReading& claims);
    static bool absorbClaims(Known& known, const ProcReading& claims);
    static bool standIn(Known& known, bool isUnread);

    std::size_t mostToRead_;
    ProcReader reader_;
    KnownByPid known_;
    core::Pid turn_ = 0; ///< whose comes next, or the pid after which to look for it
    std::uint64_t lastUnread_ = core::ProcessIdentity::unreadStart;
};

} // namespace genv::service
