// SPDX-License-Identifier: LGPL-2.1-or-later
// What the status files say, word for word. Each sentence is one line of printable text; of foreign
// text it has user names only, escaped by whoever passes them.
#pragma once

#include "core/device.hpp"
#include "core/reason.hpp"
#include "core/time.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace genv::service {

bool isByAdministrator(const core::Cause& cause);

// `actor` is the name of who asked, where somebody did; devices are ascending.

/// Devices came (`attached`) or went.
std::string sayChange(const std::vector<core::DeviceIndex>& devices, bool attached,
                      const core::Cause& cause, const std::string& actor);
std::string sayEnd(const core::Cause& cause, const std::string& actor);
/// What somebody waited for came.
std::string sayGrant(const std::vector<core::DeviceIndex>& devices,
                     std::chrono::microseconds waited);
/// A lease ends soon: that of these devices or, without any, the environment's. It says when and
/// not how soon, as a prompt may come much later.
std::string sayLeaseEnding(const std::vector<core::DeviceIndex>& devices, core::WallTime end);

} // namespace genv::service
