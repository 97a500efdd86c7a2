// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/old_genv_sample.hpp"

#include "client/remote/fleet/host_snapshot.hpp"
#include "client/remote/fleet/old_genv.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace genv::monitor {

namespace {

using remote::Snapshot;

std::optional<std::uint64_t> countOf(const std::optional<core::Bytes>& bytes) {
    return bytes ? std::optional(bytes->count) : std::nullopt;
}

DeviceState toDevice(const Snapshot::Device& source) {
    DeviceState device;
    device.device.index = source.index;
    device.device.totalMemoryBytes = source.totalMemory.count;
    for (const Snapshot::Attachment& attachment : source.attachments)
        device.attachments.push_back(
            {source.index, attachment.environment, std::nullopt, countOf(attachment.share), {}});
    return device;
}

ComputeProcess toProcess(const Snapshot::Process& source) {
    ComputeProcess process;
    process.pid = source.pid;
    process.environment = source.environment;
    for (const Snapshot::Use& use : source.uses)
        process.uses.push_back({use.device, countOf(use.memory)});
    return process;
}

ServiceState toState(const Snapshot& snapshot) {
    ServiceState state;
    std::map<std::string, std::vector<std::uint32_t>> held;
    for (const Snapshot::Device& device : snapshot.devices) {
        state.machine.devices.push_back(toDevice(device));
        for (const Snapshot::Attachment& attachment : device.attachments)
            held[attachment.environment].push_back(device.index);
    }
    for (const Snapshot::Environment& source : snapshot.environments) {
        Environment environment;
        environment.id = source.id;
        environment.uid = source.uid;
        environment.user = source.user;
        environment.configuration.name = source.name;
        environment.devices = held[source.id];
        state.machine.environments.push_back(std::move(environment));
    }
    for (const Snapshot::Process& process : snapshot.processes)
        state.processes.push_back(toProcess(process));
    return state;
}

} // namespace

std::optional<ServiceState> askOldGenv(const remote::Host& host, const remote::SshBounds& bounds) {
    try {
        return toState(remote::parseSnapshot(remote::readOldSnapshot(host, bounds)));
    } catch (const remote::InvalidSnapshot&) {
        return std::nullopt; // another program with the same name
    } catch (const remote::HostFailure& failure) {
        if (failure.trouble() == remote::Trouble::NoService ||
            failure.trouble() == remote::Trouble::Failed)
            return std::nullopt;
        throw;
    }
}

void mergeReadings(std::vector<DeviceState>& devices, std::vector<DeviceState> readings) {
    for (DeviceState& reading : readings) {
        const auto known = std::ranges::find_if(devices, [&](const DeviceState& device) {
            return device.device.index == reading.device.index;
        });
        if (known == devices.end()) {
            devices.push_back(std::move(reading));
            continue;
        }
        reading.attachments = std::move(known->attachments);
        if (reading.device.totalMemoryBytes == 0)
            reading.device.totalMemoryBytes = known->device.totalMemoryBytes;
        *known = std::move(reading);
    }
}

} // namespace genv::monitor
