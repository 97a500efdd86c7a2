// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of rules says which rules there are, in which order they are evaluated, and what
// switches each on. genvd.conf, Enforce, genvctl's options and completion, the metrics and the
// manuals read it.
//
// A new rule is an enumerator, a function that finds what violates it, and a row. One that watches
// a limit has the limit's name (limit_definitions.hpp); any other has a member of RuleSwitches.
#pragma once

#include "core/reason.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace genv::core {

class WorkingState;
struct RuleSet;

/// The enumerators stand in the order of evaluation: each rule sees what those before it found.
enum class Rule {
    NonEnvProcesses,
    EnvDevices,
    MaxLifetime,
    MaxEnvironmentsPerUser,
    MaxDevicesPerEnvironment,
    MaxDevicesPerUser,
    IdleTimeout,
    EnvMemory,
    MaxProcessesPerUser,
    MaxGpuMemoryPerDevice,
    MaxGpuMemoryPerUser,
};

/// The rules that are switched on and off, with their defaults.
struct RuleSwitches {
    bool nonEnvProcesses = false;
    bool envDevices = true;
    bool envMemory = true;

    friend bool operator==(const RuleSwitches&, const RuleSwitches&) = default;
};

/// A switch of a rule that watches no limit. `manual` is as in LimitDefinition.
struct RuleSwitch {
    std::string_view key; ///< in genvd.conf: "EnvDevices"
    bool RuleSwitches::*member;
    std::string_view help;   ///< of the option of the rule's name
    std::string_view manual; ///< in genvd.conf(5)
};

/// A row of the table.
struct RuleDefinition {
    Rule rule;
    std::string_view name; ///< in reasons ("rule:<name>"), messages, and that of its option
    /// Adds a finding for each violation.
    void (*find)(WorkingState& state, const RuleSet& rules);
    std::optional<RuleSwitch> toggle; ///< none: it watches the limit of its name
    Reason (*reason)() = nullptr;     ///< why what it found is done; null: "rule:<name>"
};

/// Returns every rule, in the order of evaluation.
std::span<const RuleDefinition> ruleDefinitions();

/// A rule that is switched on and off.
struct SwitchedRule {
    const RuleDefinition& rule;
    const RuleSwitch& toggle;
};

/// Returns the rules that have a switch, in the order of evaluation.
std::span<const SwitchedRule> switchedRules();

/// Returns a rule's name.
std::string_view nameOf(Rule rule);

/// Returns the reason for what is done about a finding: "expired" and "idle" for the two rules
/// about time.
Reason reasonOf(Rule rule);

// Each rule has one function, which adds its findings.
void findNonEnvProcesses(WorkingState& state, const RuleSet& rules);
void findEnvDevices(WorkingState& state, const RuleSet& rules);
void findLifetimes(WorkingState& state, const RuleSet& rules);
void findMaxEnvironments(WorkingState& state, const RuleSet& rules);
void findMaxDevicesPerEnvironment(WorkingState& state, const RuleSet& rules);
void findMaxDevices(WorkingState& state, const RuleSet& rules);
void findIdle(WorkingState& state, const RuleSet& rules);
void findEnvMemory(WorkingState& state, const RuleSet& rules);
void findMaxProcesses(WorkingState& state, const RuleSet& rules);
void findMemoryPerDevice(WorkingState& state, const RuleSet& rules);
void findMemoryPerUser(WorkingState& state, const RuleSet& rules);

} // namespace genv::core
