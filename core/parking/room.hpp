// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether there is room: host memory before processes move to it, memory on the devices before they
// move back. A restore without room loses the process (a fault of the driver), so it is never
// tried.
#pragma once

#include "core/model/parked.hpp"
#include "core/ports/host_memory.hpp"
#include "core/ports/observer.hpp"
#include "core/settings/settings.hpp"

#include <string>
#include <vector>

namespace genv::core {

/// The memory that other parkings hold, or are about to take.
struct OthersParked {
    Bytes all;    ///< of all users
    Bytes ofUser; ///< of the same user
    Bytes moving; ///< the part that has not moved yet, so that MemAvailable still has it
};

/// Returns why host memory cannot take these processes, or an empty text.
std::string hostMemoryProblem(const HostMemoryReading& reading,
                              const std::vector<ParkedProcess>& processes,
                              const OthersParked& others, const ParkingSettings& settings);

/// Returns why a process cannot be restored by this sample, or an empty text: each of its devices
/// must have persistence mode, and the memory free that the process had there, with a margin.
std::string deviceRoomProblem(const Observation& observation, const ParkedProcess& process);

/// Returns the devices of these processes whose persistence mode is off, as a problem; or an empty
/// text. Without it, the driver may forget a device that no program has open.
std::string persistenceProblem(const Observation& observation,
                               const std::vector<DeviceUuid>& devices);

} // namespace genv::core
