// SPDX-License-Identifier: LGPL-2.1-or-later
// Who may be a root process: a process of the environment's owner with every uid, so that nobody
// keeps an environment alive, or gains its membership, with a process that is not theirs.
#pragma once

#include "core/environment.hpp"
#include "core/ports/processes.hpp"

namespace genv::core {

/// Turns a pinned process into a root process of an environment of `owner`, as asked by `actor`;
/// root may register any but pid 1. Throws Error: AccessDenied for another user's process, also for
/// one that has become another user's since it was read, NoSuchProcess for one that has exited,
/// InvalidArgs for pid 1.
RootProcess adopt(const PinnedProcess& process, Uid owner, Uid actor);

/// Holds the parent that a kernel had when it was pinned, without reading it; unknown where that
/// was pid 1, or it cannot be held.
KernelStarter holdStarter(Processes& processes, const PinnedProcess& kernel);

} // namespace genv::core
