// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of NVIDIA's driver on this machine, and its evaluation.
#pragma once

#include "client/genvctl/doctor/finding.hpp"
#include "client/genvctl/doctor/system_places.hpp"

#include <optional>
#include <string>

namespace genv::ctl::doctor {

struct DriverFacts {
    unsigned gpus = 0;                 ///< NVIDIA GPUs in the machine, according to the kernel
    std::optional<std::string> module; ///< version of the loaded driver
    bool hasLibrary = false;           ///< whether libnvidia-ml.so.1 exists
    std::string library;               ///< its version; empty if unknown
    std::optional<unsigned> devices;   ///< devices of genvd; unset if it does not report them
    std::string unhealthy;             ///< devices of genvd with a fault, such as "GPU 1: xid-79"
    std::string unaccounted; ///< devices of genvd with memory that no process accounts for
};

/// Reads the facts of the kernel and of files. Leaves `devices` and `unhealthy` unset.
DriverFacts readDriverFacts(const SystemPlaces& places);

DoctorFinding judgeDriver(const DriverFacts& facts);

} // namespace genv::ctl::doctor
