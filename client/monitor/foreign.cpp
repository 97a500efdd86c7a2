// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/foreign.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace genv::monitor {

namespace {

/// Keeps the first `max` rows with distinct keys, and returns the number of removed rows.
template <typename Row, typename Key>
std::uint64_t keepFirst(std::vector<Row>& rows, std::size_t max, Key key) {
    std::set<decltype(key(rows.front()))> known;
    const std::size_t before = rows.size();
    std::erase_if(rows, [&](const Row& row) {
        return known.size() >= max || !known.insert(key(row)).second;
    });
    return before - rows.size();
}

void confine(Device& device) {
    device.uuid = toLabel(device.uuid);
    device.model = toLabel(device.model);
}

void confine(Environment& environment) {
    environment.id = toLabel(environment.id);
    environment.user = toLabel(environment.user);
    if (environment.configuration.name)
        environment.configuration.name = toLabel(*environment.configuration.name);
}

} // namespace

std::string toLabel(std::string_view text) {
    std::string label;
    while (!text.empty()) {
        std::string_view rest = text;
        core::takeCharacter(rest);
        // The length of one character, or 1 for an invalid byte.
        const std::size_t size = rest.size() < text.size() ? text.size() - rest.size() : 1;
        const std::string character = core::printable(text.substr(0, size));
        if (label.size() + character.size() > maxLabelLength)
            break;
        label += character;
        text.remove_prefix(size);
    }
    return label;
}

std::uint64_t confine(ServiceState& state) {
    for (DeviceState& device : state.machine.devices) {
        confine(device.device);
        device.health = toLabel(device.health);
    }
    for (Environment& environment : state.machine.environments)
        confine(environment);
    state.isolation.wanted = toLabel(state.isolation.wanted);
    std::uint64_t omitted =
        keepFirst(state.machine.devices, maxDevices,
                  [](const DeviceState& device) { return device.device.index; }) +
        keepFirst(state.machine.environments, maxEnvironments,
                  [](const Environment& environment) { return environment.id; }) +
        keepFirst(state.processes, maxProcesses,
                  [](const ComputeProcess& process) { return process.pid; });
    std::size_t uses = 0;
    for (ComputeProcess& process : state.processes) {
        if (process.environment)
            process.environment = toLabel(*process.environment);
        omitted += keepFirst(process.uses, maxUses - uses,
                             [](const DeviceUse& use) { return use.device; });
        uses += process.uses.size();
    }
    return omitted;
}

} // namespace genv::monitor
