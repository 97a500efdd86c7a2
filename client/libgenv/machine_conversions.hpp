// SPDX-License-Identifier: LGPL-2.1-or-later
// Between genv/machine.hpp and what goes over the bus.
#pragma once

#include "client/libgenv/conversions.hpp"
#include "genv/machine.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstdint>
#include <vector>

namespace genv::client {

/// As ListReadings gives them: device, when, used memory, utilisation, temperature, power.
using BusReadings = std::vector<sdbus::Struct<std::uint32_t, std::uint64_t, std::uint64_t,
                                              std::uint32_t, std::int32_t, std::uint32_t>>;
std::vector<Reading> toReadings(const BusReadings& readings);

/// As DescribeProcesses gives them. Throws sdbus::Error where something is missing or of another
/// type.
std::vector<ProcessDescription> toProcessDescriptions(const std::vector<Dictionary>& processes);
/// As ListProcesses gives them, for a service that describes none.
std::vector<ProcessDescription> toProcessDescriptions(const std::vector<ComputeProcess>& processes);

/// Every device and environment among all objects, and the manager's own properties. What a service
/// of an earlier version has not is unknown. Throws sdbus::Error where something else is missing,
/// or is of another type.
Machine toMachine(const ManagedObjects& objects, const Dictionary& manager);

} // namespace genv::client
