// SPDX-License-Identifier: LGPL-2.1-or-later
// The arguments of StartTransientUnit (org.freedesktop.systemd1(5)), by which genv's programs start
// units of their user's manager.
#pragma once

#include <sdbus-c++/sdbus-c++.h>

#include <string>
#include <vector>

namespace genv::client {

using UnitProperty = sdbus::Struct<std::string, sdbus::Variant>;
using UnitProperties = std::vector<UnitProperty>;

/// Returns a property of a unit. Its name is that of the D-Bus interface, such as
/// "CPUQuotaPerSecUSec".
template <typename Value>
UnitProperty unitProperty(const char* name, const Value& value) {
    return {std::string(name), sdbus::Variant(value)};
}

/// Writes the arguments. The call fails if the manager has a unit of this name.
inline void writeTransientUnit(sdbus::MethodCall& call, const std::string& unit,
                               const UnitProperties& properties) {
    using FurtherUnit = sdbus::Struct<std::string, UnitProperties>;
    call << unit << "fail" << properties << std::vector<FurtherUnit>();
}

} // namespace genv::client
