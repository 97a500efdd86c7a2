// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls RemoveProcess and RemoveProcessByPIDFD: unregister a root process.
#pragma once

#include "dbus/context.hpp"

namespace genv::dbus {

/// Carries out RemoveProcess for an environment. Throws core::Error for errors that are detected
/// immediately.
void removeProcess(const Context& context, const Reply<>& reply,
                   const core::Environment& environment, core::Pid pid);

/// Carries out RemoveProcessByPIDFD. The caller of this function keeps the descriptor.
void removeProcessByPidfd(const Context& context, const Reply<>& reply,
                          const core::Environment& environment, int pidfd);

/// Sends the reply once it is decided whether the environment, which may just have lost its last
/// process, has ended. Its devices are then free for the caller's next request.
void sendWhenSettled(const Sharing& sharing, const Reply<>& reply, const core::EnvironmentId& id);

} // namespace genv::dbus
