// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/machine_conversions.hpp"

#include "client/libgenv/dictionary.hpp"
#include "client/libgenv/proxies.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace genv::client {

namespace {

std::optional<Time> timeUnlessZero(std::uint64_t microseconds) {
    return microseconds == 0 ? std::nullopt : std::optional(toTime(microseconds));
}

ProcessDescription toProcessDescription(const Properties& process) {
    ProcessDescription description;
    description.pid = property<std::uint32_t>(process, "pid");
    description.uid = property<std::uint32_t>(process, "uid");
    description.user = property<std::string>(process, "user");
    description.environment = unlessZero(property<std::string>(process, "environment"));
    description.name = property<std::string>(process, "name");
    for (const auto& use : property<BusUses>(process, "devices"))
        description.uses.push_back(
            {use.get<0>(), unlessLargest(use.get<1>()), unlessLargest(use.get<2>())});
    if (const auto started = unlessLargest(property<std::uint64_t>(process, "started")))
        description.started = toTime(*started);
    return description;
}

MachineDevice toMachineDevice(const Properties& properties) {
    MachineDevice device;
    device.state = toDeviceState(properties);
    device.pciAddress = detail<std::string>(properties, "PCIAddress").value_or("");
    if (const auto limit = detail<std::uint32_t>(properties, "PowerLimit"))
        device.powerLimitMilliwatts = unlessLargest(*limit);
    device.reservedFor = unlessZero(detail<std::string>(properties, "ReservedFor").value_or(""));
    return device;
}

// An earlier version of the service does not say which devices are free.
DeviceCondition toDeviceCondition(const Properties& properties) {
    const bool isIdle = property<BusAttachments>(properties, "Attachments").empty() &&
                        property<std::string>(properties, "Health") == "ok" &&
                        detail<std::string>(properties, "ReservedFor").value_or("").empty();
    return {detail<bool>(properties, "Free").value_or(isIdle),
            detail<std::uint64_t>(properties, "UnaccountedMemory").value_or(0)};
}

MachineEnvironment toMachineEnvironment(const Properties& properties) {
    MachineEnvironment environment;
    environment.environment = toEnvironment(properties);
    if (const auto attached = detail<BusAttached>(properties, "Attached")) {
        for (const auto& device : *attached)
            environment.attached.push_back({device.get<0>(), timeUnlessZero(device.get<1>())});
    } else {
        for (const std::uint32_t device : environment.environment.devices)
            environment.attached.push_back({device, std::nullopt});
    }
    environment.parent = toParent(properties);
    environment.job = unlessZero(detail<std::string>(properties, "Job").value_or(""));
    return environment;
}

} // namespace

std::vector<Reading> toReadings(const BusReadings& readings) {
    std::vector<Reading> rows;
    rows.reserve(readings.size());
    for (const auto& row : readings)
        rows.push_back({row.get<0>(), toTime(row.get<1>()), unlessLargest(row.get<2>()),
                        unlessLargest(row.get<3>()), unlessLargest(row.get<4>()),
                        unlessLargest(row.get<5>())});
    return rows;
}

std::vector<ProcessDescription> toProcessDescriptions(const std::vector<Properties>& processes) {
    std::vector<ProcessDescription> descriptions;
    descriptions.reserve(processes.size());
    for (const Properties& process : processes)
        descriptions.push_back(toProcessDescription(process));
    return descriptions;
}

std::vector<ProcessDescription>
toProcessDescriptions(const std::vector<ComputeProcess>& processes) {
    std::vector<ProcessDescription> descriptions;
    for (const ComputeProcess& process : processes) {
        ProcessDescription description;
        description.pid = process.pid;
        description.uid = process.uid;
        description.user = std::to_string(process.uid);
        description.environment = process.environment;
        for (const DeviceUse& use : process.uses)
            description.uses.push_back({use.device, use.usedMemoryBytes, std::nullopt});
        descriptions.push_back(std::move(description));
    }
    return descriptions;
}

std::map<std::uint32_t, DeviceCondition> toDeviceConditions(const ManagedObjects& objects) {
    std::map<std::uint32_t, DeviceCondition> conditions;
    for (const auto& [path, interfaces] : objects) {
        const auto device = interfaces.find(DeviceProxy::INTERFACE_NAME);
        if (device != interfaces.end())
            conditions.emplace(property<std::uint32_t>(device->second, "Index"),
                               toDeviceCondition(device->second));
    }
    return conditions;
}

Machine toMachine(const ManagedObjects& objects, const Properties& manager) {
    Machine machine;
    machine.driverVersion = detail<std::string>(manager, "DriverVersion").value_or("");
    machine.isolation = detail<std::string>(manager, "Isolation").value_or("none");
    for (const auto& [path, interfaces] : objects) {
        const auto device = interfaces.find(DeviceProxy::INTERFACE_NAME);
        if (device != interfaces.end())
            machine.devices.push_back(toMachineDevice(device->second));
        const auto environment = interfaces.find(EnvironmentProxy::INTERFACE_NAME);
        if (environment != interfaces.end())
            machine.environments.push_back(toMachineEnvironment(environment->second));
    }
    std::ranges::sort(machine.devices, {},
                      [](const MachineDevice& device) { return device.state.device.index; });
    std::ranges::sort(machine.environments, {}, [](const MachineEnvironment& environment) {
        return std::tie(environment.environment.created, environment.environment.id);
    });
    return machine;
}

} // namespace genv::client
