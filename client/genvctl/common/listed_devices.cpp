// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/listed_devices.hpp"

#include <tuple>

namespace genv::ctl {

std::vector<ListedDevice> listDevices(const SystemBus& bus) {
    using Row =
        sdbus::Struct<std::uint32_t, std::string, std::string, std::uint64_t, sdbus::ObjectPath>;
    std::vector<ListedDevice> devices;
    for (const auto& row : bus.call<std::vector<Row>>(manager, "ListDevices"))
        devices.push_back({std::get<0>(row), std::get<1>(row), std::get<2>(row), std::get<4>(row)});
    return devices;
}

} // namespace genv::ctl
