// SPDX-License-Identifier: LGPL-2.1-or-later
// The reader of /proc: a process of its own, which genvd starts from its own program. A user can
// keep whoever reads an entry of theirs waiting for ever, in the kernel, where a thread cannot be
// ended but a process can be killed. It answers the requests of proc_protocol.hpp and knows nothing
// of time; its parent does, and ends it.
#pragma once

#include <sys/types.h>

namespace genv::service {

/// Answers requests on standard input until its other end is closed; an exit status. Ends with the
/// parent, whose pid is given.
int serveProcReads(pid_t parent);

} // namespace genv::service
