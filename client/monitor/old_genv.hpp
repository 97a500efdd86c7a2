// SPDX-License-Identifier: LGPL-2.1-or-later
// What a machine says that has no service: the old Python genv's devices and environments, and the
// driver's readings beside them.
#pragma once

#include "client/monitor/sample.hpp"
#include "client/remote/ssh/session.hpp"

#include <optional>
#include <vector>

namespace genv::monitor {

/// What the old genv says of a host; nothing where there is none. Throws HostFailure where the host
/// cannot be asked.
std::optional<ServiceState> askOldGenv(const remote::Host& host, const remote::SshBounds& bounds);

/// Adds readings to devices, by index, and devices that are in the readings only.
void mergeReadings(std::vector<DeviceState>& devices, std::vector<DeviceState> readings);

} // namespace genv::monitor
