// SPDX-License-Identifier: LGPL-2.1-or-later
// A taking: preemptible environments are parked so that a waiting request gets their devices. It is
// a part of the request's wait, and so of the state document: it is written before the first
// environment is parked, and its devices are reserved for the request as long as it lasts.
#pragma once

#include "core/base/time.hpp"
#include "core/model/device.hpp"
#include "core/model/environment_id.hpp"

#include <chrono>
#include <vector>

namespace genv::core {

struct PendingTaking {
    std::vector<EnvironmentId> victims; ///< the environments that are parked
    std::vector<DeviceUuid> devices;    ///< all that the request gets, those that are free included
    WallTime since;
    BootTime began; ///< `since` on the boot clock, which cannot be set
    /// How long it takes to move the memory of the victims.
    std::chrono::milliseconds estimate{0};
    BootTime deadline; ///< from then on the victims go on, and the request waits on

    friend bool operator==(const PendingTaking&, const PendingTaking&) = default;
};

} // namespace genv::core
