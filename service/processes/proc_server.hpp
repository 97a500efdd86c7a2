// SPDX-License-Identifier: LGPL-2.1-or-later
// The reader of /proc: a separate process that genvd starts from its own program. A user can make a
// reader of their entries wait forever in the kernel, where a thread cannot be ended but a process
// can be killed. The reader answers the requests of proc_protocol.hpp and has no timeouts. Its
// parent has them, and kills it.
#pragma once

#include <sys/types.h>

namespace genv::service {

/// Answers requests on standard input until the other end is closed. Returns an exit status. The
/// process also ends when `parent` exits, which is the PID of its parent.
int serveProcReads(pid_t parent);

} // namespace genv::service
