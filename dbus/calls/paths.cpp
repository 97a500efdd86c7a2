// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/paths.hpp"

#include "dbus/contract/names.hpp"

#include <fmt/format.h>

namespace genv::dbus {

sdbus::ObjectPath environmentPath(const core::EnvironmentId& id) {
    return sdbus::ObjectPath{raw::encodePath(contract::environmentPathPrefix, id)};
}

std::optional<core::EnvironmentId> environmentIdOf(const std::string& path) {
    return raw::decodePath(contract::environmentPathPrefix, path);
}

sdbus::ObjectPath devicePath(core::DeviceIndex index) {
    return sdbus::ObjectPath{fmt::format("{}/{}", contract::devicePathPrefix, index)};
}

} // namespace genv::dbus
