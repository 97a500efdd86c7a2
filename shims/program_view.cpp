// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/program_view.hpp"

#include "shims/printable.hpp"

#include <fmt/format.h>

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

AnothersEnvironment::AnothersEnvironment(const EnvironmentEntry& environment)
    : std::runtime_error(fmt::format("environment {} belongs to {} ({})", printable(environment.id),
                                     printable(environment.user), environment.uid)) {}

// Uses the list of all environments. The description of a single environment contains variants, for
// which sdbus-c++ opens descriptors and keeps them open. The NVML filter runs in a foreign program
// and must not do so.
bool isThere(Client& client, const client::NamedEnvironment& named) {
    for (const EnvironmentEntry& environment : client.environments()) {
        if (environment.id != named.id)
            continue;
        const client::Standing standing = client::standingOf(named, environment, client.uid());
        if (standing == client::Standing::Anothers)
            throw AnothersEnvironment(environment);
        return standing == client::Standing::Own;
    }
    return false;
}

View readDevices(Client& client, const client::NamedEnvironment& named) {
    View view;
    if (!isThere(client, named))
        return view;
    const std::vector<Attachment> attachments = client.attachments();
    for (const Device& device : client.devices()) {
        const auto attachment =
            std::find_if(attachments.begin(), attachments.end(), [&](const Attachment& candidate) {
                return candidate.device == device.index && candidate.environment == named.id;
            });
        if (attachment != attachments.end())
            view.push_back(
                {device.index, device.uuid, device.totalMemoryBytes, attachment->shareBytes, {}});
    }
    return view;
}

View readView(Client& client, const client::NamedEnvironment& named) {
    View view = readDevices(client, named);
    for (const ComputeProcess& process : client.processes()) {
        if (process.environment != named.id)
            continue;
        for (const DeviceUse& use : process.uses) {
            if (VisibleDevice* device = find(view, use.device))
                device->processes.push_back({process.pid, use.usedMemoryBytes});
        }
    }
    return view;
}

} // namespace genv::shims
