// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the state of systemd units for the checks.
#pragma once

#include "client/genvctl/common/system_bus.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::doctor {

/// The state of a unit according to systemd.
struct Unit {
    std::string load;   ///< "loaded", "not-found", "masked"
    std::string active; ///< "active", "failed", "inactive", ...
    std::string file;   ///< "enabled", "disabled", ...
    std::string why;    ///< the reason for a failure
    std::int32_t status = 0;
};

/// Returns the service unit at an object path of systemd, or nothing if systemd is not on this bus.
/// Throws CallFailed.
std::optional<Unit> unitAt(const SystemBus& bus, const char* path);

/// Returns the object path of a unit.
std::string unitPath(const std::string& name);

/// Returns the units that stop when this unit stops or does not start (Requires=). systemd must be
/// on this bus. Throws CallFailed.
std::vector<std::string> unitsThatRequire(const SystemBus& bus, const std::string& name);

} // namespace genv::ctl::doctor
