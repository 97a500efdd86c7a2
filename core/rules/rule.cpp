// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/rule.hpp"

#include "core/rules/working_state.hpp"

#include <utility>

namespace genv::core {

std::string_view nameOf(Rule rule) {
    switch (rule) {
    case Rule::NonEnvProcesses:
        return "non-env-processes";
    case Rule::EnvDevices:
        return "env-devices";
    case Rule::EnvMemory:
        return "env-memory";
    case Rule::MaxLifetime:
        return "max-lifetime";
    case Rule::MaxEnvironmentsPerUser:
        return "max-environments-per-user";
    case Rule::MaxDevicesPerUser:
        return "max-devices-per-user";
    case Rule::IdleTimeout:
        return "idle-timeout";
    case Rule::MaxProcessesPerUser:
        return "max-processes-per-user";
    case Rule::MaxGpuMemoryPerDevice:
        return "max-gpu-memory-per-device";
    case Rule::MaxGpuMemoryPerUser:
        break;
    }
    return "max-gpu-memory-per-user";
}

Reason reasonOf(Rule rule) {
    if (rule == Rule::MaxLifetime)
        return Reason::expired();
    if (rule == Rule::IdleTimeout)
        return Reason::idle();
    return Reason::rule(nameOf(rule));
}

std::vector<Finding> evaluate(const Situation& situation, const RuleSet& rules) {
    WorkingState state(situation);
    if (rules.nonEnvProcesses)
        findNonEnvProcesses(state);
    if (rules.envDevices)
        findEnvDevices(state);
    if (rules.limitsOf) {
        findLifetimes(state, rules);
        findMaxEnvironments(state, rules);
        findMaxDevices(state, rules);
        findIdle(state, rules);
    }
    if (rules.envMemory)
        findEnvMemory(state);
    if (rules.limitsOf) {
        findMaxProcesses(state, rules);
        findMemoryPerDevice(state, rules);
        findMemoryPerUser(state, rules);
    }
    return std::move(state.findings);
}

} // namespace genv::core
