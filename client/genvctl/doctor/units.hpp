// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the state of systemd units for the checks.
#pragma once

#include "client/genvctl/common/system_bus.hpp"

#include <cstdint>
#include <optional>
#include <string>

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

} // namespace genv::ctl::doctor
