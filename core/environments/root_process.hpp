// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks who may be a root process: a process whose uids are all the environment owner's. So nobody
// keeps an environment alive, or joins it, with a process of another user.
#pragma once

#include "core/model/environment.hpp"
#include "core/ports/processes.hpp"

namespace genv::core {

/// Turns a pinned process into a root process of an environment of `owner`, requested by `actor`.
/// Root may register any process except PID 1 and kernel threads. Throws Error: AccessDenied for a
/// process of another user, also if it changed its user since it was read, NoSuchProcess for one
/// that has exited, InvalidArgs for PID 1 and kernel threads.
RootProcess adopt(const PinnedProcess& process, Uid owner, Uid actor);

/// Holds the parent that a Jupyter kernel had when it was pinned, without reading it. The result is
/// unknown if the parent was PID 1, or if it cannot be held.
JupyterKernelStarter holdStarter(Processes& processes, const PinnedProcess& jupyterKernel);

} // namespace genv::core
