// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes as arguments of calls. A PID is a number of this program's PID namespace, and the
// service may be in another one. A pidfd means the same process everywhere.
#pragma once

#include "client/libgenv/connection.hpp"
#include "client/libgenv/dictionary.hpp"

#include <cstdint>
#include <optional>

namespace genv::client {

/// Returns the PID of this process as the bus and the service see it.
std::uint32_t ownPid(Connection& connection);

/// Returns a pidfd of a process, if the connection can carry one and the process exists.
std::optional<sdbus::UnixFd> pidfdFor(Connection& connection, std::uint32_t pid);

/// Replaces the option `pid` of Activate with `process`, where that is possible.
void namePrecisely(Connection& connection, Dictionary& options);

} // namespace genv::client
