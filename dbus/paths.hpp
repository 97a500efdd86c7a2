// SPDX-License-Identifier: LGPL-2.1-or-later
// Object paths of environments and devices.
#pragma once

#include "core/device.hpp"
#include "core/environment.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <optional>
#include <string>

namespace genv::dbus {

/// The path of an environment's object: the id escaped as raw::encodePath() does.
sdbus::ObjectPath environmentPath(const core::EnvironmentId& id);

/// The id of the environment whose object has a path; nothing for any other path.
std::optional<core::EnvironmentId> environmentIdOf(const std::string& path);

/// The path of a device's object.
sdbus::ObjectPath devicePath(core::DeviceIndex index);

} // namespace genv::dbus
