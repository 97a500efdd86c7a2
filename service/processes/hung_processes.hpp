// SPDX-License-Identifier: LGPL-2.1-or-later
// The processes whose entries in /proc did not answer, for all that read there: such a one is not
// read again for a minute, so that nobody waits for it twice, and is told of once. Each is held by
// its pidfd, so that another process with its pid is none.
#pragma once

#include "core/process.hpp"
#include "service/posix/pidfd.hpp"
#include "service/processes/proc_protocol.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace genv::service {

/// Used by several threads.
class HungProcesses {
  public:
    using Clock = std::chrono::steady_clock;
    /// A line for the log; called on any thread.
    using Listener = std::function<void(const std::string&)>;

    /// How long a process is not read again.
    static constexpr std::chrono::seconds retryAfter{60};
    /// The most that are known; the oldest are forgotten.
    static constexpr std::size_t most = 1024;

    explicit HungProcesses(Listener listener, std::chrono::milliseconds retry = retryAfter)
        : listener_(std::move(listener)), retry_(retry) {}

    /// A part of a process, whose effective uid is given, did not answer.
    void add(core::Pid pid, core::Uid uid, ProcPart part);

    /// Whether a process hung lately, so that reading this part would hang as well.
    [[nodiscard]] bool isHung(core::Pid pid, ProcPart part);

    /// How many processes of a user hung lately, so that reading this part would.
    [[nodiscard]] std::size_t hangsOf(core::Uid uid, ProcPart part);

    /// Whether any is known.
    [[nodiscard]] bool isEmpty();

    /// Says something about the reading itself.
    void tell(const std::string& line) const { listener_(line); }

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
