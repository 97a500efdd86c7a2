// SPDX-License-Identifier: LGPL-2.1-or-later
// Object paths of environments and devices.
#pragma once

#include "core/model/device.hpp"
#include "core/model/environment.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <optional>
#include <string>

namespace genv::dbus {

/// Returns the path of an environment's object: the id, escaped as by raw::encodePath().
sdbus::ObjectPath environmentPath(const core::EnvironmentId& id);

/// Returns the id of the environment whose object has this path; nothing for any other path.
std::optional<core::EnvironmentId> environmentIdOf(const std::string& path);

/// Returns the path of a device's object.
sdbus::ObjectPath devicePath(core::DeviceIndex index);

} // namespace genv::dbus
