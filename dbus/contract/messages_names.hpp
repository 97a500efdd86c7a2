// SPDX-License-Identifier: LGPL-2.1-or-later
// The name of genv-notify-core on the bus of its user. It offers no object: the name says that it
// runs, and that nobody else does the same.
#pragma once

namespace genv::dbus::contract {

inline constexpr const char* messagesBusName = "dev.genv.Messages";

} // namespace genv::dbus::contract
