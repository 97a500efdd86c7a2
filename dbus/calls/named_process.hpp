// SPDX-License-Identifier: LGPL-2.1-or-later
// The process that a caller names by a PID. A PID is a number of the caller's PID namespace. In
// another namespace than the service's, such as a container's, the same number is another process
// here. Such a caller names its process by a pidfd instead, which the kernel translates.
#pragma once

#include "dbus/calls/bus_context.hpp"

#include <optional>
#include <utility>

namespace genv::dbus {

/// Throws core::Error(InvalidArgs) unless the caller uses the PIDs of the service.
void requireSamePids(const Caller& caller, core::Pid pid, bool usesSamePids);

/// Continues with `next` once it is known that this PID, which the caller gave, means the same
/// process here. The caller's own PID, as the bus reports it, always does. Otherwise, refuses the
/// call, or throws core::Error.
template <typename... Values, typename Next>
void whenPidIsOurs(const Calls& calls, core::Processes& processes, const Reply<Values...>& reply,
                   core::Pid pid, Next next) {
    const Caller& caller = reply.caller();
    if (pid == caller.pid) {
        next();
        return;
    }
    const std::optional<bool> known =
        caller.pid == 0 ? false : calls.callers.usesSamePids(caller.busName);
    if (known) {
        requireSamePids(caller, pid, *known);
        next();
        return;
    }
    // The call counts while the caller's process is read.
    const auto place = calls.startingCalls.enter(caller.uid);
    processes.usesSamePids(caller.pid, caller.uid,
                           reply.later([&calls, reply, pid, place, next = std::move(next)](
                                           const core::ProcessRead<bool>& read) {
                               calls.callers.learnPids(reply.caller().busName, read.get());
                               requireSamePids(reply.caller(), pid, read.get());
                               next();
                           }));
}

} // namespace genv::dbus
