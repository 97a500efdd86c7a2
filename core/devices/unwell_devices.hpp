// SPDX-License-Identifier: LGPL-2.1-or-later
// Tracks the devices that were reported as unhealthy. After a start, the health of the devices of
// environments is unknown until the driver has answered. That such a device is healthy is not
// reported.
#pragma once

#include "core/model/device_table.hpp"

#include <set>

namespace genv::core {

class UnwellDevices {
  public:
    /// Records the new health of a device. Returns false if the device is healthy and was never
    /// reported as unhealthy.
    bool isNews(const TableDevice& device) {
        if (device.health.state == Health::State::Ok)
            return reported_.erase(device.facts.uuid) > 0;
        reported_.insert(device.facts.uuid);
        return true;
    }

  private:
    std::set<DeviceUuid> reported_;
};

} // namespace genv::core
