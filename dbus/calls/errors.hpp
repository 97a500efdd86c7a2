// SPDX-License-Identifier: LGPL-2.1-or-later
// The only place that converts errors to D-Bus errors. The texts of foreign exceptions never reach
// a caller: sdbus-c++ would send the what() of any exception.
#pragma once

#include "core/base/error.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <string>

namespace genv::dbus {

/// Returns the D-Bus name of an error.
const char* busErrorName(core::ErrorCode code);

/// Converts a refusal to a D-Bus error.
sdbus::Error toBusError(const core::Error& error);

/// Returns the exception that is being handled as a refusal. Anything except a core::Error becomes
/// Internal, with a fixed text for the caller and its own text in `fault`, for the log.
core::Error currentRefusal(std::string& fault);

} // namespace genv::dbus
