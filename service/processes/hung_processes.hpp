// SPDX-License-Identifier: LGPL-2.1-or-later
// Remembers processes whose entries in /proc did not answer. All readers share this list: such a
// process is not read again for a minute, so that no reader waits for it twice, and it is logged
// once. Each process is held by its pidfd, so that another process with its PID is not mistaken for
// it.
#pragma once

#include "core/base/process.hpp"
#include "service/posix/pidfd.hpp"
#include "service/processes/proc_protocol.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace genv::service {

/// May be used by several threads.
class HungProcesses {
  public:
    using Clock = std::chrono::steady_clock;
    /// Receives a line for the log. Called on any thread.
    using Listener = std::function<void(const std::string&)>;

    /// How long a hung process is not read again.
    static constexpr std::chrono::seconds retryAfter{60};
    /// The maximum number of remembered processes. The oldest are dropped.
    static constexpr std::size_t maxProcesses = 1024;

    explicit HungProcesses(Listener listener, std::chrono::milliseconds retry = retryAfter)
        : listener_(std::move(listener)), retry_(retry) {}

    /// Records that this part of a process did not answer. `uid` is the effective uid of the
    /// process.
    void add(core::Pid pid, core::Uid uid, ProcPart part);

    /// Returns whether the process hung recently, so that reading this part would hang as well.
    [[nodiscard]] bool isHung(core::Pid pid, ProcPart part);

    /// Returns how many processes of a user hung recently in such a way that reading this part
    /// would hang.
    [[nodiscard]] std::size_t hangsOf(core::Uid uid, ProcPart part);

    /// Returns whether no process is remembered.
    [[nodiscard]] bool isEmpty();

    /// Logs a line about the reader itself.
    void log(const std::string& line) const { listener_(line); }

  private:
    struct Hung {
        Pidfd process;
        core::Uid uid;
        ProcPart part;
        Clock::time_point when;
    };

    [[nodiscard]] bool isLately(const Hung& hung, ProcPart part) const;
    void makeRoom();

    const Listener listener_;
    const std::chrono::milliseconds retry_;
    std::mutex mutex_;
    std::map<core::Pid, Hung> hung_;
};

} // namespace genv::service
