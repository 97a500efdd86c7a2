// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads a machine without a service: the devices and environments of genv 1, written in Python, and
// the readings of the driver.
#pragma once

#include "client/monitor/sample.hpp"
#include "client/remote/ssh/session.hpp"

#include <optional>
#include <vector>

namespace genv::monitor {

/// Returns the state according to genv 1 on a host, or nothing if it is not installed. Throws
/// HostFailure if the host cannot be queried.
std::optional<ServiceState> askOldGenv(const remote::Host& host, const remote::SshBounds& bounds);

/// Adds readings to devices by index, and adds devices that occur only in the readings.
void mergeReadings(std::vector<DeviceState>& devices, std::vector<DeviceState> readings);

} // namespace genv::monitor
