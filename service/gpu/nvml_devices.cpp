// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_devices.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace genv::service {

using core::Health;

core::GpuSample NvmlDevices::update(const NvmlReport& report) {
    std::vector<Device> devices;
    for (const NvmlDevice& device : report.devices) {
        const auto kind = device.mig ? core::DeviceKind::MigInstance : core::DeviceKind::Gpu;
        const core::DeviceFacts facts{device.uuid, 0, kind, device.model, device.totalMemory};
        devices.push_back({device.gpu,
                           device.mig,
                           {facts,
                            device.reading,
                            {},
                            device.nodes,
                            device.pciAddress,
                            device.hasUnifiedMemory,
                            device.memory,
                            device.persistence}});
    }
    addFailed(report, devices);
    applyXids(report, devices);
    std::ranges::sort(devices, {}, [](const Device& device) {
        return std::tuple(device.sample.facts.kind, device.gpu, device.mig);
    });
    core::DeviceIndex nextInstance = report.gpuCount;
    core::GpuSample sample;
    for (Device& device : devices) {
        device.sample.facts.index = device.mig ? nextInstance++ : device.gpu;
        sample.devices.push_back(device.sample);
    }
    sample.uses = report.uses;
    sample.driverVersion = report.driverVersion;
    sample.nodes = report.nodes;
    known_ = std::move(devices);
    return sample;
}

void NvmlDevices::addFailed(const NvmlReport& report, std::vector<Device>& devices) const {
    std::set<core::DeviceUuid> listed;
    for (const Device& device : devices)
        listed.insert(device.sample.facts.uuid);
    for (const NvmlFailedGpu& failed : report.failed) {
        for (const Device& device : known_) {
            // A GPU that moved to another index is already listed there.
            if (device.gpu != failed.gpu || !listed.insert(device.sample.facts.uuid).second)
                continue;
            devices.push_back(device);
            devices.back().sample.reading = {};
            devices.back().sample.memory = {};
            devices.back().sample.health = {
                failed.lost ? Health::State::Lost : Health::State::Stale, 0};
        }
    }
}

void NvmlDevices::applyXids(const NvmlReport& report, std::vector<Device>& devices) {
    for (const NvmlDevice& device : report.devices) {
        if (device.xid)
            xids_[device.uuid] = *device.xid;
    }
    std::map<core::DeviceUuid, std::uint32_t> kept;
    for (Device& device : devices) {
        const auto xid = xids_.find(device.sample.facts.uuid);
        if (xid == xids_.end())
            continue;
        kept.insert(*xid);
        if (device.sample.health.state == Health::State::Ok)
            device.sample.health = {Health::State::Xid, xid->second};
    }
    xids_ = std::move(kept); // drops the XIDs of removed devices
}

} // namespace genv::service
