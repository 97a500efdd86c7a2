// SPDX-License-Identifier: LGPL-2.1-or-later
// For child processes that must not outlive their parent.
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

namespace genv::core {

/// Lets the kernel send this process a signal when its parent ends: more exactly, when the thread
/// ends that forked it. Returns false if the parent has already ended: then the signal never comes,
/// and the process must exit by itself. Called in the child, after any change of its uid, which
/// would cancel this. `parent` is the PID of the parent, determined before fork(2). See
/// PR_SET_PDEATHSIG in prctl(2).
[[nodiscard]] inline bool endWithParent(pid_t parent, int signal) noexcept {
    return ::prctl(PR_SET_PDEATHSIG, signal) == 0 && ::getppid() == parent;
}

} // namespace genv::core
