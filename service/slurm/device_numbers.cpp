// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/device_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace genv::service {

namespace {

using Owners = std::map<core::DeviceNode, std::vector<const core::DeviceSample*>>;

Owners ownersOf(const std::vector<core::DeviceSample>& devices) {
    Owners owners;
    for (const core::DeviceSample& device : devices) {
        for (const core::DeviceNode& node : device.nodes)
            owners[node].push_back(&device);
    }
    return owners;
}

} // namespace

SlurmDeviceTable joinSlurmDevices(const std::vector<core::SlurmDevice>& listed,
                                  const std::vector<core::DeviceSample>& devices) {
    const Owners owners = ownersOf(devices);
    SlurmDeviceTable table;
    for (const core::SlurmDevice& device : listed) {
        const auto found = owners.find(device.node);
        if (found != owners.end() && found->second.size() == 1)
            table.rows.push_back({device.number, found->second.front()->facts.uuid});
        else
            table.unknown.push_back(device);
    }
    return table;
}

std::string slurmDeviceText(const std::vector<SlurmDeviceRow>& rows) {
    std::string text;
    for (const SlurmDeviceRow& row : rows)
        text += fmt::format("{} {}\n", row.number, row.uuid);
    return text;
}

} // namespace genv::service
