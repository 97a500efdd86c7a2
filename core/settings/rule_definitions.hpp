// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of rules: their order of evaluation, and their settings. genvd.conf, Enforce, genvctl's
// options and completion, the metrics and the manuals are based on it.
//
// To add a rule, add an enumerator, a function that finds violations, and a row. A rule that
// watches a limit has the name of the limit (limit_definitions.hpp). Any other rule has a member in
// RuleSwitches.
#pragma once

#include "core/model/reason.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace genv::core {

class WorkingState;
struct RuleSet;

/// Listed in the order of evaluation: each rule sees the findings of the rules before it.
enum class Rule {
    NonEnvProcesses,
    EnvDevices,
    MaxLifetime,
    MaxEnvironmentsPerUser,
    MaxPreemptibleDevices,
    MaxDevicesPerEnvironment,
    MaxDevicesPerUser,
    IdleTimeout,
    EnvMemory,
    MaxProcessesPerUser,
    MaxGpuMemoryPerDevice,
    MaxGpuMemoryPerUser,
};

/// The rules that can be switched on and off, with their defaults.
struct RuleSwitches {
    bool nonEnvProcesses = false;
    bool envDevices = true;
    bool envMemory = true;

    friend bool operator==(const RuleSwitches&, const RuleSwitches&) = default;
};

/// The switch of a rule that watches no limit. `manual` is as in LimitDefinition.
struct RuleSwitch {
    std::string_view key; ///< the key in genvd.conf: "EnvDevices"
    bool RuleSwitches::*member;
    std::string_view help;   ///< the help text of the option, which has the name of the rule
    std::string_view manual; ///< the text in genvd.conf(5)
};

/// A row of the table.
struct RuleDefinition {
    Rule rule;
    std::string_view
        name; ///< used in reasons ("rule:<name>"), messages, and as the name of the option
    /// Adds a finding for each violation.
    void (*find)(WorkingState& state, const RuleSet& rules);
    std::optional<RuleSwitch> toggle; ///< unset: the rule watches the limit of the same name
    Reason (*reason)() = nullptr;     ///< the reason of its actions; null: "rule:<name>"
    /// It ends what was granted within a limit that was lowered since. KeepGrants= suspends it.
    bool endsGrants = false;
};

/// Returns every rule, in the order of evaluation.
std::span<const RuleDefinition> ruleDefinitions();

/// A rule that can be switched on and off.
struct SwitchedRule {
    const RuleDefinition& rule;
    const RuleSwitch& toggle;
};

/// Returns the rules with a switch, in the order of evaluation.
std::span<const SwitchedRule> switchedRules();

/// Returns the name of a rule.
std::string_view nameOf(Rule rule);

/// Returns the reason for an action on a finding. It is "expired" and "idle" for the two rules
/// about time.
Reason reasonOf(Rule rule);

// Each rule has one function, which adds its findings.
void findNonEnvProcesses(WorkingState& state, const RuleSet& rules);
void findEnvDevices(WorkingState& state, const RuleSet& rules);
void findLifetimes(WorkingState& state, const RuleSet& rules);
void findMaxEnvironments(WorkingState& state, const RuleSet& rules);
void findFailedLoans(WorkingState& state, const RuleSet& rules);
void findMaxDevicesPerEnvironment(WorkingState& state, const RuleSet& rules);
void findMaxDevices(WorkingState& state, const RuleSet& rules);
void findIdle(WorkingState& state, const RuleSet& rules);
void findEnvMemory(WorkingState& state, const RuleSet& rules);
void findMaxProcesses(WorkingState& state, const RuleSet& rules);
void findMemoryPerDevice(WorkingState& state, const RuleSet& rules);
void findMemoryPerUser(WorkingState& state, const RuleSet& rules);

} // namespace genv::core
