// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rule_definitions.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace genv::core {

namespace {

constexpr std::array definitions{
    RuleDefinition{
        Rule::NonEnvProcesses, "non-env-processes", &findNonEnvProcesses,
        RuleSwitch{"NonEnvProcesses", &RuleSwitches::nonEnvProcesses,
                   "End processes outside every environment",
                   "Whether processes that use a GPU and belong to no environment are ended.\n"
                   "A process of which any uid is 0 is spared."}},
    RuleDefinition{
        Rule::EnvDevices, "env-devices", &findEnvDevices,
        RuleSwitch{"EnvDevices", &RuleSwitches::envDevices,
                   "End processes on devices they were not given",
                   "Whether processes that use a GPU which is not attached to their environment "
                   "are ended."}},
    RuleDefinition{Rule::MaxLifetime, "max-lifetime", &findLifetimes, {}, &Reason::expired},
    RuleDefinition{
        Rule::MaxEnvironmentsPerUser, "max-environments-per-user", &findMaxEnvironments, {}},
    RuleDefinition{Rule::MaxDevicesPerEnvironment,
                   "max-devices-per-environment",
                   &findMaxDevicesPerEnvironment,
                   {}},
    RuleDefinition{Rule::MaxDevicesPerUser, "max-devices-per-user", &findMaxDevices, {}},
    RuleDefinition{Rule::IdleTimeout, "idle-timeout", &findIdle, {}, &Reason::idle},
    RuleDefinition{
        Rule::EnvMemory, "env-memory", &findEnvMemory,
        RuleSwitch{"EnvMemory", &RuleSwitches::envMemory,
                   "End processes of environments over a share",
                   "Whether an environment that uses more memory of a GPU than its share is "
                   "brought back under it.\n"
                   "The fewest of its processes on that GPU that suffice are ended: the largest "
                   "first, for the last place the smallest that is enough, and among equals the "
                   "one that started last.\n"
                   "Memory that the driver does not know counts as none."}},
    RuleDefinition{Rule::MaxProcessesPerUser, "max-processes-per-user", &findMaxProcesses, {}},
    RuleDefinition{
        Rule::MaxGpuMemoryPerDevice, "max-gpu-memory-per-device", &findMemoryPerDevice, {}},
    RuleDefinition{Rule::MaxGpuMemoryPerUser, "max-gpu-memory-per-user", &findMemoryPerUser, {}},
};

constexpr bool isInOrder() {
    for (std::size_t i = 0; i < definitions.size(); ++i) {
        if (definitions[i].rule != static_cast<Rule>(i))
            return false;
    }
    return true;
}
static_assert(isInOrder(), "a rule's row stands at the place of its enumerator");

const RuleDefinition& definitionOf(Rule rule) {
    return definitions[static_cast<std::size_t>(rule)];
}

} // namespace

std::span<const RuleDefinition> ruleDefinitions() {
    return definitions;
}

std::span<const SwitchedRule> switchedRules() {
    static const std::vector<SwitchedRule> switched = [] {
        std::vector<SwitchedRule> rules;
        for (const RuleDefinition& rule : definitions) {
            if (rule.toggle)
                rules.push_back({rule, *rule.toggle});
        }
        return rules;
    }();
    return switched;
}

std::string_view nameOf(Rule rule) {
    return definitionOf(rule).name;
}

Reason reasonOf(Rule rule) {
    const RuleDefinition& definition = definitionOf(rule);
    return definition.reason != nullptr ? definition.reason() : Reason::rule(definition.name);
}

} // namespace genv::core
