// SPDX-License-Identifier: LGPL-2.1-or-later
// The names that both sides of the bus use. Interface and member names come from the XML.
#pragma once

namespace genv::dbus::contract {

inline constexpr const char* busName = "dev.genv.Manager";
inline constexpr const char* managerPath = "/dev/genv/Manager";
inline constexpr const char* environmentPathPrefix = "/dev/genv/Manager/environment";
inline constexpr const char* devicePathPrefix = "/dev/genv/Manager/device";

/// The name of the bus driver, which is also the name of its interface.
inline constexpr const char* busDriver = "org.freedesktop.DBus";
inline constexpr const char* busDriverPath = "/org/freedesktop/DBus";

/// Error names: dev.genv.Error.* are genv's own, the others are standard D-Bus errors. The
/// reference page explains each of them.
namespace error {
inline constexpr const char* noSuchEnvironment = "dev.genv.Error.NoSuchEnvironment";
inline constexpr const char* noSuchDevice = "dev.genv.Error.NoSuchDevice";
inline constexpr const char* noSuchProcess = "dev.genv.Error.NoSuchProcess";
inline constexpr const char* deviceUnavailable = "dev.genv.Error.DeviceUnavailable";
inline constexpr const char* notEnoughDevices = "dev.genv.Error.NotEnoughDevices";
inline constexpr const char* alreadyExists = "dev.genv.Error.AlreadyExists";
inline constexpr const char* quotaExceeded = "dev.genv.Error.QuotaExceeded";
inline constexpr const char* notAttached = "dev.genv.Error.NotAttached";
inline constexpr const char* noSuchWait = "dev.genv.Error.NoSuchWait";
inline constexpr const char* busy = "dev.genv.Error.Busy";
inline constexpr const char* cannotPark = "dev.genv.Error.CannotPark";
inline constexpr const char* notParked = "dev.genv.Error.NotParked";
inline constexpr const char* noHostMemory = "dev.genv.Error.NoHostMemory";
inline constexpr const char* accessDenied = "org.freedesktop.DBus.Error.AccessDenied";
inline constexpr const char* interactiveAuthorizationRequired =
    "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired";
inline constexpr const char* invalidArgs = "org.freedesktop.DBus.Error.InvalidArgs";
inline constexpr const char* limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded";
inline constexpr const char* notSupported = "org.freedesktop.DBus.Error.NotSupported";
inline constexpr const char* timeout = "org.freedesktop.DBus.Error.Timeout";
inline constexpr const char* ioError = "org.freedesktop.DBus.Error.IOError";
inline constexpr const char* failed = "org.freedesktop.DBus.Error.Failed";
} // namespace error

} // namespace genv::dbus::contract
