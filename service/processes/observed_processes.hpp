// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps facts about the processes that use GPUs from one observation to the next. Each process is
// read again for every observation. If there are so many that reading /proc alone would take too
// long, only some of them are read in turn, and the facts of the others remain valid as long as
// they live. A pidfd holds each process, so that its PID cannot refer to another process meanwhile.
//
// A process that cannot be read is reported nevertheless, with the uids that the kernel reports
// without waiting, and outside every environment. Blocking readers therefore protects no process
// from the rules. Such a process keeps one identity, so that rules recognize it and a signal cannot
// reach another process. If only the environment of a process cannot be read, its previous claims
// remain valid.
#pragma once

#include "core/ports/observer.hpp"
#include "service/posix/exit_watch.hpp"
#include "service/posix/pidfd.hpp"
#include "service/processes/proc_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace genv::service {

/// Used by one thread. Blocks no longer than ProcBudget allows plus the time for reading. Call it
/// on the worker.
class ObservedProcesses {
  public:
    /// The uses of each process, by PID.
    using Uses = std::map<core::Pid, std::vector<core::ComputeUse>>;

    /// The maximum number of known processes that are read again for one observation. A process may
    /// change its uids, its parent and its claims without exiting. Such a change is noticed when it
    /// is read again: with n processes, within n / maxRead observations.
    static constexpr std::size_t maxRead = 512;

    explicit ObservedProcesses(ProcAccess access, std::size_t maxToRead = maxRead)
        : maxToRead_(maxToRead), reader_(std::move(access)) {}

    /// Returns the current facts of the processes, in the order of their PIDs. Omits processes that
    /// have exited.
    std::vector<core::ObservedProcess> look(const Uses& uses);

  private:
    struct Known {
        std::optional<Pidfd> held;            ///< and watched; unset if there was no room
        core::ObservedProcess process;        ///< without its uses
        bool isRead = false;                  ///< false: only the kernel's facts are known
        std::optional<ProcClaims> lastClaims; ///< the claims from the last successful read
    };
    using KnownByPid = std::map<core::Pid, Known>;

    void forgetAllBut(const Uses& uses);
    void forgetExited();
    /// Opens pidfds of the new processes before they are read.
    void hold(const Uses& uses);
    /// Returns the processes to read this time: the new ones, and as many others as the limit
    /// allows.
    std::set<core::Pid> takeTurns();
    /// Returns false if the process has exited.
    bool absorb(Known& known, const ProcReading& lineage, const ProcReading& claims);
    static bool absorbClaims(Known& known, const ProcReading& claims);
    static bool standIn(Known& known, bool isUnread);

    std::size_t maxToRead_;
    ProcReader reader_;
    ExitWatch exits_; ///< of the known processes
    KnownByPid known_;
    core::Pid turn_ = 0; ///< the PID at which the next turn starts
    std::uint64_t lastUnread_ = core::ProcessIdentity::unreadStart;
};

} // namespace genv::service
