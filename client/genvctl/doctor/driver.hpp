// SPDX-License-Identifier: LGPL-2.1-or-later
// NVIDIA's driver on this machine, and what its state means.
#pragma once

#include "client/genvctl/doctor/finding.hpp"
#include "client/genvctl/doctor/places.hpp"

#include <optional>
#include <string>

namespace genv::ctl::doctor {

struct DriverFacts {
    unsigned gpus = 0;                 ///< of NVIDIA's in the machine, as the kernel sees them
    std::optional<std::string> module; ///< version of the loaded driver
    bool hasLibrary = false;           ///< whether libnvidia-ml.so.1 is there
    std::string library;               ///< its version; empty: unknown
    std::optional<unsigned> devices;   ///< of genvd; nothing where it does not say
    std::string unhealthy;             ///< those of them with a fault, such as "GPU 1: xid-79"
};

/// What the kernel and the files tell; `devices` and `unhealthy` are left alone.
DriverFacts readDriverFacts(const Places& places);

Finding judgeDriver(const DriverFacts& facts);

} // namespace genv::ctl::doctor
