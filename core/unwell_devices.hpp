// SPDX-License-Identifier: LGPL-2.1-or-later
// Which devices people were told are not well. After a start nobody knows how the devices of
// environments are until the driver has answered: that they are well then is no news.
#pragma once

#include "core/device_table.hpp"

#include <set>

namespace genv::core {

class UnwellDevices {
  public:
    /// Takes a device's new health in. False where it is well and nobody has heard of anything
    /// else.
    bool isNews(const Device& device) {
        if (device.health.state == Health::State::Ok)
            return told_.erase(device.facts.uuid) > 0;
        told_.insert(device.facts.uuid);
        return true;
    }

  private:
    std::set<DeviceUuid> told_;
};

} // namespace genv::core
