// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/task_variables.hpp"

#include <algorithm>
#include <string_view>

namespace genv::jobs {

namespace {

Environment environmentOf(const GrantedEnvironment& granted) {
    Environment environment;
    environment.id = granted.id;
    environment.created = Time(granted.created);
    if (!granted.name.empty())
        environment.configuration.name = granted.name;
    if (granted.gpus != 0)
        environment.configuration.gpus = granted.gpus;
    if (granted.gpuMemoryBytes != 0)
        environment.configuration.gpuMemoryBytes = granted.gpuMemoryBytes;
    return environment;
}

std::vector<Device> machineOf(const std::vector<DeviceRow>& rows) {
    std::vector<Device> machine;
    machine.reserve(rows.size());
    for (const DeviceRow& row : rows)
        machine.push_back({row.index, row.uuid, row.model, 0});
    return machine;
}

bool isReplaced(std::string_view text, const std::vector<ctl::Variable>& variables) {
    const std::string_view name = text.substr(0, text.find('='));
    return name.starts_with("GENV_") ||
           std::ranges::any_of(variables, [&](const auto& each) { return each.name == name; });
}

} // namespace

std::vector<ctl::Variable> variablesOf(const GrantedEnvironment& environment) {
    const bool otherIndices = environment.isolation != "none" || environment.hasParent;
    return ctl::environmentVariables(
        environmentOf(environment),
        ctl::visibleDevices(machineOf(environment.machine), environment.devices, otherIndices));
}

std::vector<std::string> uuidsOf(const GrantedEnvironment& environment) {
    std::vector<std::string> uuids;
    for (const std::uint32_t index : environment.devices) {
        const auto row = std::ranges::find(environment.machine, index, &DeviceRow::index);
        if (row != environment.machine.end())
            uuids.push_back(row->uuid);
    }
    return uuids;
}

std::vector<std::string> withVariables(const std::vector<std::string>& submitted,
                                       const std::vector<ctl::Variable>& variables) {
    std::vector<std::string> texts;
    texts.reserve(submitted.size() + variables.size());
    for (const std::string& text : submitted) {
        if (!isReplaced(text, variables))
            texts.push_back(text);
    }
    for (const auto& [name, value] : variables) {
        if (value)
            texts.push_back(name + '=' + *value);
    }
    return texts;
}

} // namespace genv::jobs
