// SPDX-License-Identifier: LGPL-2.1-or-later
// Who may be a root process: a process of the environment's owner with every uid, so that nobody
// keeps an environment alive, or gains its membership, with a process that is not theirs.
#pragma once

#include "core/environment.hpp"
#include "core/ports/processes.hpp"

#include <memory>

namespace genv::core {

/// Turns a pinned process into a root process of an environment of `owner`, as asked by `actor`;
/// root may register any but pid 1. Throws Error: AccessDenied for another user's process,
/// NoSuchProcess for one that has exited, InvalidArgs for pid 1.
RootProcess adopt(std::shared_ptr<const ProcessPin> pin, Uid owner, Uid actor);

/// Pins the parent of a process; null where it has none but pid 1, or cannot be pinned.
std::shared_ptr<const ProcessPin> pinParent(Processes& processes, const ProcessIdentity& process);

} // namespace genv::core
