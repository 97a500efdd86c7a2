// SPDX-License-Identifier: LGPL-2.1-or-later
// Units of systemd, as the checks look at them.
#pragma once

#include "client/genvctl/common/system_bus.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace genv::ctl::doctor {

/// A unit as systemd has it.
struct Unit {
    std::string load;   ///< "loaded", "not-found", "masked"
    std::string active; ///< "active", "failed", "inactive", ...
    std::string file;   ///< "enabled", "disabled", ...
    std::string why;    ///< of a failure
    std::int32_t status = 0;
};

/// The service unit at an object path of systemd's. Nothing where no systemd is on this bus. Throws
/// CallFailed.
std::optional<Unit> unitAt(const SystemBus& bus, const char* path);

} // namespace genv::ctl::doctor
