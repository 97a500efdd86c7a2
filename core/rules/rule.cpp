// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/rule.hpp"

#include "core/ledger/ledger_view.hpp"
#include "core/ledger/membership.hpp"
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
runningProcesses(const LedgerView& ledger, const Observation& observation,
                 const std::function<bool(const ObservedProcess&)>& isProtected,
                 const GuardedUses& guardedUses) {
    const EnvironmentLookup lookup = lookupIn(ledger);
    std::vector<RunningProcess> processes;
    processes.reserve(observation.processes.size());
    for (const ObservedProcess& process : observation.processes) {
        if (process.isUnread || isProtected(process) ||
            ledger.isParked(process.facts.identity, observation.started))
            continue;
        const EnvironmentRecord* environment = environmentOf(lookup, process);
        const Uid user = environment != nullptr ? environment->uid : process.user();
        const EnvironmentRecord* parent =
            environment != nullptr ? ledger.parentOf(*environment) : nullptr;
        processes.push_back({&process, environment, parent, user});
        if (environment == nullptr && guardedUses)
            processes.back().guarded = guardedUses(process);
    }
    return processes;
}

std::set<Uid> usersOf(const LedgerView& ledger, const Observation& observation) {
    std::set<Uid> uids;
    for (const auto& [sequence, environment] : ledger.environments())
        uids.insert(environment.uid);
    for (const ObservedProcess& process : observation.processes)
        uids.insert(process.user());
    return uids;
}

std::vector<Finding> evaluate(const Situation& situation, const RuleSet& rules) {
    WorkingState state(situation);
    for (const RuleDefinition& rule : ruleDefinitions()) {
        const bool isOn =
            rule.toggle ? rules.switches.*(rule.toggle->member) : rules.limitsOf != nullptr;
        if (isOn && !(rules.keepsGrants && rule.endsGrants))
            rule.find(state, rules);
    }
    return std::move(state.findings);
}

GrantsOverLimits grantsOverLimits(const Situation& situation, const RuleSet& rules) {
    GrantsOverLimits over;
    for (const RuleDefinition& rule : ruleDefinitions()) {
        if (!rule.endsGrants)
            continue;
        WorkingState state(situation); // what one rule finds exists for the next one, too
        rule.find(state, rules);
        for (const Finding& finding : state.findings) {
            const Consequences& found = finding.consequences;
            over.environments.insert(found.ended.begin(), found.ended.end());
            if (!found.ended.empty())
                continue; // its attachments go only with the environment
            for (const Detachment& detachment : found.detachments)
                over.attachments.emplace(detachment.environment, detachment.device);
        }
    }
    return over;
}

} // namespace genv::core
