// SPDX-License-Identifier: LGPL-2.1-or-later
// What parking needs of this machine, and its evaluation.
#pragma once

#include "client/genvctl/doctor/finding.hpp"
#include "client/genvctl/doctor/system_places.hpp"
#include "core/base/bytes.hpp"
#include "core/model/device.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::doctor {

struct ParkingFacts {
    std::optional<std::string> module; ///< version of the loaded driver
    bool hasLibrary = false;           ///< whether libcuda.so.1 exists
    bool hasFunctions = false;         ///< whether it can move a process's memory
    /// GPUs that are not in persistence mode. Unset if the driver does not say.
    std::optional<std::vector<core::DeviceIndex>> notPersistent;
    std::optional<core::Bytes> available; ///< host memory, if known
    std::string socket;                   ///< state of genv-park.socket; empty if not known
};

DoctorFinding judgeParking(const ParkingFacts& facts);

/// Returns the free host memory according to this machine's /proc/meminfo.
std::optional<core::Bytes> availableMemory(const SystemPlaces& places);

} // namespace genv::ctl::doctor
