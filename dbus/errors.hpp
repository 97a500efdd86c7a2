// SPDX-License-Identifier: LGPL-2.1-or-later
// The one place where an error becomes a D-Bus error. What is not a refusal of genv's own never
// leaves as text: sdbus-c++ would send the what() of any exception to the caller.
#pragma once

#include "core/error.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <string>

namespace genv::dbus {

/// The D-Bus name of an error.
const char* busErrorName(core::ErrorCode code);

/// A refusal as the bus sends it.
sdbus::Error toBusError(const core::Error& error);

/// The exception that is being handled, as a refusal. Anything but a core::Error becomes Internal,
/// with a fixed text for the caller and what it said in `fault`, for the log.
core::Error currentRefusal(std::string& fault);

} // namespace genv::dbus
