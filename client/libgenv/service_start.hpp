// SPDX-License-Identifier: LGPL-2.1-or-later
// What stands before the first call of a client: whether the service can answer. The bus starts a
// service that is not running, but it does not hear that this failed: it lets the caller wait for
// 25 s and knows no reason. systemd knows it.
#pragma once

#include "client/libgenv/connection.hpp"

namespace genv::client {

/// Starts the service if it is not running. Throws ServiceUnavailable with systemd's reason if that
/// fails. A configuration that is wrong does not heal by itself, and systemd limits how often a
/// start may be tried: once its unit has failed so, nothing is started. Without systemd, the call
/// that follows starts the service.
void requireService(Connection& connection);

} // namespace genv::client
