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

Machine toMachine(const ManagedObjects& objects, const Properties& manager) {
    Machine machine;
    machine.driverVersion = property<std::string>(manager, "DriverVersion");
    machine.isolation = property<std::string>(manager, "Isolation");
    for (const auto& [path, interfaces] : objects) {
        const auto device = interfaces.find(DeviceProxy::INTERFACE_NAME);
        if (device != interfaces.end())
            machine.devices.push_back(toDeviceState(device->second));
        const auto environment = interfaces.find(EnvironmentProxy::INTERFACE_NAME);
        if (environment != interfaces.end())
            machine.environments.push_back(toEnvironment(environment->second));
    }
    std::ranges::sort(machine.devices, {},
                      [](const DeviceState& state) { return state.device.index; });
    std::ranges::sort(machine.environments, {}, [](const Environment& environment) {
        return std::tie(environment.created, environment.id);
    });
    return machine;
}

} // namespace genv::client
