// SPDX-License-Identifier: LGPL-2.1-or-later
// Which environments are parked so that a request gets its devices. A decision without side
// effects: free devices come first, then loans by the least memory to move, then the youngest. Only
// whole devices are taken, and no environment is parked whose devices the request does not need.
#pragma once

#include "core/model/attach_request.hpp"
#include "core/model/device_table.hpp"
#include "core/model/environment.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace genv::core {

/// A preemptible environment that may be parked for others, with the devices that become free.
struct TakeableEnvironment {
    EnvironmentId environment;
    std::vector<DeviceUuid> devices; ///< all that it holds, each whole and alone
    Bytes bytes;                     ///< memory to move
    std::uint64_t sequence = 0;      ///< of its newest attachment: a larger one is younger
    bool isMoving = false;           ///< it is being parked for a request already
};

/// What a request takes.
struct TakingPlan {
    std::vector<EnvironmentId> victims;
    std::vector<DeviceUuid> devices; ///< those that the request lacks, in all; free ones first

    friend bool operator==(const TakingPlan&, const TakingPlan&) = default;
};

/// Returns the plan for a request, or nothing if free devices and loans do not complete it.
/// `environment`: of the request; null for one that does not exist yet. `isUsable`: whether a
/// device may be a part of the plan, that is, nobody else has a right to it.
std::optional<TakingPlan> planTaking(const AttachRequest& request,
                                     const EnvironmentRecord* environment,
                                     const DeviceTable& devices,
                                     const std::vector<TakeableEnvironment>& loans,
                                     const std::function<bool(const TableDevice&)>& isUsable);

/// Returns how long it takes to move this memory, roughly, with all devices at the same time.
/// `bytesPerDevice`: of the device with the most memory to move.
std::chrono::milliseconds estimateMove(Bytes bytesPerDevice);

} // namespace genv::core
