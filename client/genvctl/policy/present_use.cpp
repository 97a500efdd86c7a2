// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/policy/present_use.hpp"

#include "client/genvctl/common/system_bus.hpp"
#include "client/genvctl/context/context.hpp"
#include "core/settings/rule_definitions.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace genv::ctl {

namespace {

std::vector<std::string> findUse(Client& client, const std::vector<EnvironmentEntry>& environments,
                                 const std::vector<ComputeProcess>& processes) {
    std::set<std::uint32_t> users;
    for (const EnvironmentEntry& entry : environments)
        users.insert(entry.uid);
    for (const ComputeProcess& process : processes)
        users.insert(process.uid);
    std::vector<std::string> used;
    for (const std::uint32_t uid : users) {
        std::string text = fmt::format("{}:", uid);
        for (const auto& [name, limit] : client.limits(uid))
            text += fmt::format("{}={},", name, limit.used);
        used.push_back(std::move(text));
    }
    return used;
}

// Returns the processes that the rule NonEnvProcesses= would end. A dry run needs no authorization.
std::set<std::uint32_t> findOutside(Client& client) {
    EnforceOptions options;
    for (const auto& [rule, toggle] : core::switchedRules())
        options.setRule(std::string(rule.name), rule.rule == core::Rule::NonEnvProcesses);
    std::set<std::uint32_t> outside;
    for (const EnforcementAction& action : client.enforce(options.setDryRun(true))) {
        if (action.kind == "terminate" && action.pid)
            outside.insert(*action.pid);
    }
    return outside;
}

/// The devices that users hold.
using HeldDevices = std::set<std::pair<std::uint32_t, std::uint32_t>>; // by uid and index

HeldDevices findHeldDevices(Client& client, const std::vector<EnvironmentEntry>& environments) {
    std::map<std::string, std::uint32_t> owners;
    for (const EnvironmentEntry& entry : environments)
        owners.emplace(entry.id, entry.uid);
    HeldDevices holds;
    for (const Attachment& attachment : client.attachments()) {
        if (const auto owner = owners.find(attachment.environment); owner != owners.end())
            holds.emplace(owner->second, attachment.device);
    }
    return holds;
}

std::vector<std::string> describeOutside(Client& client,
                                         const std::vector<EnvironmentEntry>& environments,
                                         const std::vector<ComputeProcess>& processes) {
    const std::set<std::uint32_t> outside = findOutside(client);
    if (outside.empty())
        return {};
    const HeldDevices holds = findHeldDevices(client, environments);
    std::map<std::uint32_t, std::string> uuids;
    for (const Device& device : client.devices())
        uuids.emplace(device.index, device.uuid);
    std::vector<std::string> texts;
    for (const ComputeProcess& process : processes) {
        if (!outside.contains(process.pid))
            continue;
        std::string text = fmt::format("{}:{}:", process.uid, process.pid);
        for (const DeviceUse& use : process.uses)
            text += fmt::format("{}={}={},", use.device, uuids[use.device],
                                holds.contains({process.uid, use.device}) ? "held" : "");
        texts.push_back(std::move(text));
    }
    return texts;
}

} // namespace

bool isServiceRunning() {
    try {
        return SystemBus().hasOwner(dbus::contract::busName);
    } catch (const std::runtime_error&) { // no bus, or it does not answer
        return false;
    }
}

PresentUse findPresentUse(Context& context) {
    if (!isServiceRunning())
        return {};
    Client& client = context.client();
    const std::vector<EnvironmentEntry> environments = client.environments();
    const std::vector<ComputeProcess> processes = client.processes();
    return {findUse(client, environments, processes),
            describeOutside(client, environments, processes)};
}

} // namespace genv::ctl
