// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/view.hpp"

#include "genv/client.hpp"

#include <algorithm>

namespace genv::shims {

namespace {

VisibleDevice* find(View& view, std::uint32_t index) {
    const auto device = std::find_if(view.begin(), view.end(), [&](const VisibleDevice& candidate) {
        return candidate.index == index;
    });
    return device == view.end() ? nullptr : &*device;
}

} // namespace

bool isInstance(std::string_view uuid) {
    return uuid.starts_with("MIG-");
}

bool hasInstances(const View& view) {
    return std::any_of(view.begin(), view.end(),
                       [](const VisibleDevice& device) { return isInstance(device.uuid); });
}

std::optional<std::uint64_t> VisibleDevice::usedMemoryBytes() const {
    std::uint64_t sum = 0;
    for (const VisibleProcess& process : processes) {
        if (!process.usedMemoryBytes)
            return std::nullopt;
        sum += *process.usedMemoryBytes;
    }
    return sum;
}

View readDevices(Client& client, const std::string& environment) {
    View view;
    const std::vector<Attachment> attachments = client.attachments();
    for (const Device& device : client.devices()) {
        const auto attachment =
            std::find_if(attachments.begin(), attachments.end(), [&](const Attachment& candidate) {
                return candidate.device == device.index && candidate.environment == environment;
            });
        if (attachment != attachments.end())
            view.push_back(
                {device.index, device.uuid, device.totalMemoryBytes, attachment->shareBytes, {}});
    }
    return view;
}

View readView(Client& client, const std::string& environment) {
    View view = readDevices(client, environment);
    for (const ComputeProcess& process : client.processes()) {
        if (process.environment != environment)
            continue;
        for (const DeviceUse& use : process.uses) {
            if (VisibleDevice* device = find(view, use.device))
                device->processes.push_back({process.pid, use.usedMemoryBytes});
        }
    }
    return view;
}

} // namespace genv::shims
