// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks before the first call of a client whether the service can answer. The bus starts a service
// that is not running, but it does not notice a failed start: the caller waits for 25 s and gets no
// reason. systemd knows the reason.
#pragma once

#include "client/libgenv/connection.hpp"

namespace genv::client {

/// Starts the service if it is not running. Throws ServiceUnavailable with systemd's reason if the
/// start fails. An invalid configuration does not repair itself, and systemd limits the rate of
/// starts, so a unit that failed for this reason is not started again. Without systemd, the next
/// call starts the service.
void requireService(Connection& connection);

/// Throws ServiceUnavailable if systemd has no unit of the service, which is then not installed. A
/// stopped or masked service is installed.
void requireInstalled(Connection& connection);

} // namespace genv::client
