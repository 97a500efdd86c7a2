// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/named_process.hpp"

#include "core/base/error.hpp"

namespace genv::dbus {

void requireSamePids(const Caller& caller, core::Pid pid, bool usesSamePids) {
    if (usesSamePids)
        return;
    if (caller.pid == 0)
        core::fail(core::ErrorCode::InvalidArgs,
                   "the caller is in another PID namespace, where {} is another process; name the "
                   "process by a pidfd",
                   pid);
    core::fail(core::ErrorCode::InvalidArgs,
               "the caller, process {} here, is in another PID namespace, where {} is another "
               "process; name the process by a pidfd, or call from outside the container",
               caller.pid, pid);
}

} // namespace genv::dbus
