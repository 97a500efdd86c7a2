// SPDX-License-Identifier: LGPL-2.1-or-later
// The bus of the user who runs this program, also under cron and su, which set no address.
#pragma once

#include <sdbus-c++/sdbus-c++.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::jobs {

/// The addresses to try: DBUS_SESSION_BUS_ADDRESS (null if unset), then the socket of the user's
/// manager. After su, the variable may name the bus of another user, who is not let in.
std::vector<std::string> userBusAddresses(const char* given, std::uint32_t uid);

/// Sets DBUS_SESSION_BUS_ADDRESS to the first of these whose socket belongs to this user. Returns
/// false if no such socket exists. Call it before other threads start, because they may read
/// variables.
bool nameUserBus();

/// Connects to DBUS_SESSION_BUS_ADDRESS, without changing variables. Calls have no time-out. Throws
/// Unavailable.
std::unique_ptr<sdbus::IConnection> connectToNamedUserBus();

/// Connects to the first bus that accepts this user. Calls have no time-out. Throws Unavailable.
std::unique_ptr<sdbus::IConnection> connectToUserBus();

} // namespace genv::jobs
