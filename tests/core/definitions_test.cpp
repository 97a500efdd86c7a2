// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of limits and of rules are consistent, and each row is unique.
#include "core/settings/limit_definitions.hpp"
#include "core/settings/rule_definitions.hpp"

#include <gtest/gtest.h>

#include <set>

namespace genv::tests {
namespace {

TEST(Definitions, GiveEveryLimitTheRuleOfItsName) {
    std::set<std::string_view> watching;
    for (const core::RuleDefinition& rule : core::ruleDefinitions()) {
        if (!rule.toggle)
            watching.insert(rule.name);
    }
    std::set<std::string_view> limits;
    for (const core::LimitDefinition& limit : core::limitDefinitions())
        limits.insert(limit.name);
    EXPECT_EQ(limits, watching);
}

TEST(Definitions, OfLimitsDifferInWhatTheyAreCalledAndWhereTheyAreKept) {
    std::set<std::string_view> keys;
    std::set<std::string_view> labels;
    std::set<std::string_view> columns;
    core::Limits limits;
    for (const core::LimitDefinition& limit : core::limitDefinitions()) {
        EXPECT_TRUE(keys.insert(limit.key).second) << limit.key;
        EXPECT_TRUE(labels.insert(limit.label).second) << limit.key;
        EXPECT_TRUE(columns.insert(limit.column).second) << limit.key;
        EXPECT_EQ(limit.allowed(limits),
                  limit.isAllowance ? std::optional<std::uint64_t>(0) : std::nullopt)
            << limit.key << ": another row set it";
        std::visit(
            [&](auto member) {
                using Value = typename std::remove_cvref_t<decltype(limits.*member)>::value_type;
                limits.*member = Value{1};
            },
            limit.member);
        EXPECT_EQ(limit.allowed(limits), limit.unit() == core::LimitUnit::Time ? 0U : 1U)
            << limit.key;
    }
}

TEST(Definitions, OfSwitchedRulesDifferInWhatTheyAreCalledAndWhereTheyAreKept) {
    std::set<std::string_view> keys;
    core::RuleSwitches off{false, false, false};
    for (const auto& [rule, toggle] : core::switchedRules()) {
        EXPECT_TRUE(keys.insert(toggle.key).second) << rule.name;
        EXPECT_FALSE(off.*toggle.member) << rule.name << ": another row set it";
        off.*toggle.member = true;
    }
}

TEST(Definitions, FindALimitByItsName) {
    EXPECT_EQ(core::findLimit("max-lifetime")->key, "MaxLifetime");
    EXPECT_EQ(core::findLimit("max-nothing"), nullptr);
}

} // namespace
} // namespace genv::tests
