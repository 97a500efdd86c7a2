// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts between genv/machine.hpp and the messages on the bus.
#pragma once

#include "client/libgenv/conversions.hpp"
#include "genv/machine.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstdint>
#include <vector>

namespace genv::client {

/// The reply of ListReadings: device, when, used memory, utilisation, temperature, power.
using BusReadings = std::vector<sdbus::Struct<std::uint32_t, std::uint64_t, std::uint64_t,
                                              std::uint32_t, std::int32_t, std::uint32_t>>;
std::vector<Reading> toReadings(const BusReadings& readings);

/// Converts the reply of DescribeProcesses. Throws sdbus::Error if an entry is missing or has
/// another type.
std::vector<ProcessDescription> toProcessDescriptions(const std::vector<Properties>& processes);

/// Returns every device and environment among all objects, with the manager's own properties.
/// Throws sdbus::Error if a property is missing or has another type.
Machine toMachine(const ManagedObjects& objects, const Properties& manager);

} // namespace genv::client
