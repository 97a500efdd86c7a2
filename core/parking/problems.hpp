// SPDX-License-Identifier: LGPL-2.1-or-later
// Why an environment cannot be parked or resumed, in words that its user understands, each with the
// remedy. One table maps the failures of the driver's calls.
#pragma once

#include "core/model/parked.hpp"
#include "core/ports/parker.hpp"

#include <string>

namespace genv::core {

/// Describes a failed call for a process.
std::string describeProblem(ParkingCall call, const ParkingFailure& failure,
                            const ParkedProcess& process);

/// Names a process: "process 123 (python)".
std::string nameProcess(const ParkedProcess& process);

/// Describes a driver's library that cannot park; empty if it can.
std::string capabilityProblem(const ParkingCapability& capability);

} // namespace genv::core
