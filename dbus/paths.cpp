// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/paths.hpp"

#include "dbus/contract/names.hpp"

#include <fmt/format.h>
#include <systemd/sd-bus.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace genv::dbus {

sdbus::ObjectPath environmentPath(const core::EnvironmentId& id) {
    char* encoded = nullptr;
    if (sd_bus_path_encode(contract::environmentPathPrefix, id.c_str(), &encoded) < 0)
        throw std::bad_alloc(); // the prefix is valid, so there is no other failure
    const std::unique_ptr<char, decltype(&std::free)> path(encoded, &std::free);
    return std::string(path.get());
}

std::optional<core::EnvironmentId> environmentIdOf(const std::string& path) {
    char* id = nullptr;
    if (sd_bus_path_decode(path.c_str(), contract::environmentPathPrefix, &id) <= 0)
        return std::nullopt;
    const std::unique_ptr<char, decltype(&std::free)> text(id, &std::free);
    return std::string(text.get());
}

sdbus::ObjectPath devicePath(core::DeviceIndex index) {
    return fmt::format("{}/{}", contract::devicePathPrefix, index);
}

} // namespace genv::dbus
