// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/rule.hpp"

#include "core/ledger.hpp"
#include "core/membership.hpp"
#include "core/rules/working_state.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

bool RunningProcess::uses(const DeviceUuid& device) const {
    return std::any_of(process->uses.begin(), process->uses.end(),
                       [&](const ComputeUse& use) { return use.device == device; });
}

bool RunningProcess::isOfJob() const {
    return (environment != nullptr && environment->job) || (parent != nullptr && parent->job);
}

std::optional<Bytes> RunningProcess::memoryOn(const DeviceUuid& device) const {
    for (const ComputeUse& use : process->uses) {
        if (use.device == device)
            return use.usedMemory;
    }
    return std::nullopt;
}

std::vector<RunningProcess>
runningProcesses(const Ledger& ledger, const Observation& observation,
                 const std::function<bool(const ComputeProcess&)>& isProtected,
                 const GuardedUses& guardedUses) {
    const EnvironmentLookup lookup = lookupIn(ledger);
    std::vector<RunningProcess> processes;
    processes.reserve(observation.processes.size());
    for (const ComputeProcess& process : observation.processes) {
        if (process.isUnread || isProtected(process))
            continue;
        const Environment* environment = environmentOf(lookup, process);
        const Uid user = environment != nullptr ? environment->uid : process.user();
        const Environment* parent =
            environment != nullptr ? ledger.parentOf(*environment) : nullptr;
        processes.push_back({&process, environment, parent, user});
        if (environment == nullptr && guardedUses)
            processes.back().guarded = guardedUses(process);
    }
    return processes;
}

std::vector<Finding> evaluate(const Situation& situation, const RuleSet& rules) {
    WorkingState state(situation);
    for (const RuleDefinition& rule : ruleDefinitions()) {
        if (rule.toggle ? rules.switches.*(rule.toggle->member) : rules.limitsOf != nullptr)
            rule.find(state, rules);
    }
    return std::move(state.findings);
}

} // namespace genv::core
