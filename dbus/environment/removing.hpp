// SPDX-License-Identifier: LGPL-2.1-or-later
// The calls RemoveProcess and RemoveProcessByPIDFD: unregister a root process.
#pragma once

#include "dbus/calls/bus_context.hpp"

namespace genv::dbus {

/// Carries out RemoveProcess for an environment. Throws core::Error for errors that are detected
/// immediately.
void removeProcess(const BusContext& context, const Reply<>& reply,
                   const core::EnvironmentRecord& environment, core::Pid pid);

/// Carries out RemoveProcessByPIDFD. The caller of this function keeps the descriptor.
void removeProcessByPidfd(const BusContext& context, const Reply<>& reply,
                          const core::EnvironmentRecord& environment, int pidfd);

/// Sends the reply once it is decided whether the environment, which may just have lost its last
/// process, has ended. Its devices are then free for the caller's next request.
void sendWhenSettled(const SharingParts& sharing, const Reply<>& reply,
                     const core::EnvironmentId& id);

} // namespace genv::dbus
