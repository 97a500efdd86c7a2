// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/outside_preview.hpp"

#include "core/base/text.hpp"
#include "core/rules/over_limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <set>

namespace genv::core {

namespace {

using OutsideProcesses = std::vector<OutsideProcess>;

std::string gpuList(const OutsideProcesses& processes,
                    const std::function<bool(const OutsideProcess::Use&)>& counts) {
    std::set<DeviceIndex> devices;
    for (const OutsideProcess& process : processes) {
        for (const OutsideProcess::Use& use : process.uses) {
            if (counts(use))
                devices.insert(use.device);
        }
    }
    if (devices.empty())
        return {};
    return fmt::format("GPU{} {}", devices.size() == 1 ? "" : "s", fmt::join(devices, ","));
}

std::string processList(const OutsideProcesses& processes) {
    constexpr std::size_t maxListed = 5;
    std::vector<std::string> listed;
    for (const OutsideProcess& process : processes) {
        if (listed.size() == maxListed) {
            listed.emplace_back("...");
            break;
        }
        listed.push_back(std::to_string(process.pid));
    }
    return fmt::format("{} process{} ({})", processes.size(), processes.size() == 1 ? "" : "es",
                       fmt::join(listed, ", "));
}

// The kernel does not take an open GPU away; the rule EnvDevices= then ends the process, unless
// NonEnvProcesses= already does.
std::string effectOfIsolation(const Settings& settings) {
    if (settings.isolation.mode == IsolationMode::Watch)
        return "counted at the next open, not refused";
    if (settings.rules.nonEnvProcesses)
        return "refused at the next open";
    return fmt::format("refused at the next open; {}",
                       actionOfRule("the processes are ended", settings));
}

} // namespace

std::vector<std::string> describeOutside(const std::string& user, const OutsideProcesses& processes,
                                         const Settings& settings) {
    std::vector<std::string> sentences;
    const std::string name = escaped(user, maxUserNameLength);
    if (settings.rules.nonEnvProcesses && !processes.empty())
        sentences.push_back(fmt::format(
            "{} runs {} on {} outside every environment (NonEnvProcesses): {}", name,
            processList(processes), gpuList(processes, [](const auto&) { return true; }),
            actionOfRule(processes.size() == 1 ? "it is ended" : "they are ended", settings)));
    const std::string refused = gpuList(processes, [](const auto& use) { return use.isRefused; });
    if (settings.isolation.mode != IsolationMode::None && !refused.empty())
        sentences.push_back(fmt::format("{} uses {} without an environment that holds {} "
                                        "(Isolation): {}",
                                        name, refused, refused.starts_with("GPUs") ? "them" : "it",
                                        effectOfIsolation(settings)));
    return sentences;
}

} // namespace genv::core
