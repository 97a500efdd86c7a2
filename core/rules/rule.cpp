// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/rules/rule.hpp"

#include "core/rules/working_state.hpp"

#include <utility>

namespace genv::core {

std::vector<Finding> evaluate(const Situation& situation, const RuleSet& rules) {
    WorkingState state(situation);
    for (const RuleDefinition& rule : ruleDefinitions()) {
        if (rule.toggle ? rules.switches.*(rule.toggle->member) : rules.limitsOf != nullptr)
            rule.find(state, rules);
    }
    return std::move(state.findings);
}

} // namespace genv::core
