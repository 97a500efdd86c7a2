// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/settings/rule_definitions.hpp"

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
                   "Whether to end processes that use a GPU and belong to no environment.\n"
                   "Processes with a uid of 0, real, effective or saved, are spared."}},
    RuleDefinition{
        Rule::EnvDevices, "env-devices", &findEnvDevices,
        RuleSwitch{"EnvDevices", &RuleSwitches::envDevices,
                   "End processes on GPUs their environment does not hold",
                   "Whether to end processes that use a GPU which is not attached to their "
                   "environment.\n"
                   "With Isolation=user also processes outside every environment that use a "
                   "guarded GPU which their user does not hold. Processes with a uid of 0 and "
                   "those of exempt users are spared."}},
    RuleDefinition{Rule::MaxLifetime, "max-lifetime", &findLifetimes, {}, &Reason::expired, true},
    RuleDefinition{Rule::MaxEnvironmentsPerUser,
                   "max-environments-per-user",
                   &findMaxEnvironments,
                   {},
                   nullptr,
                   true},
    RuleDefinition{Rule::MaxPreemptibleDevices, "max-preemptible-devices", &findFailedLoans, {}},
    RuleDefinition{Rule::MaxDevicesPerEnvironment,
                   "max-devices-per-environment",
                   &findMaxDevicesPerEnvironment,
                   {},
                   nullptr,
                   true},
    RuleDefinition{
        Rule::MaxDevicesPerUser, "max-devices-per-user", &findMaxDevices, {}, nullptr, true},
    RuleDefinition{Rule::IdleTimeout, "idle-timeout", &findIdle, {}, &Reason::idle},
    RuleDefinition{
        Rule::EnvMemory, "env-memory", &findEnvMemory,
        RuleSwitch{"EnvMemory", &RuleSwitches::envMemory,
                   "End processes of environments above their memory share",
                   "Whether to end processes of an environment that uses more memory of a GPU than "
                   "its share.\n"
                   "As few of its processes on that GPU as possible are ended: the largest first, "
                   "then the smallest one that suffices, and among equals the one that started "
                   "last.\n"
                   "Memory that the driver does not report counts as zero.\n"
                   "With Isolation=user also processes outside every environment, if their user "
                   "holds only shares of that GPU: they may use what the user's environments leave "
                   "of these shares."}},
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
