// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices of the running service, for commands that must not start it.
#pragma once

#include "client/genvctl/common/system_bus.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace genv::ctl {

struct ListedDevice {
    std::uint32_t index = 0;
    std::string uuid;
    std::string model;
    std::string path;
};

/// Throws CallFailed.
std::vector<ListedDevice> listDevices(const SystemBus& bus);

} // namespace genv::ctl
