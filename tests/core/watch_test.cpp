// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's own cycles: they warn once, wait for the grace period, and forget findings that
// ended.
#include "tests/core/enforcer_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

// Alice holds two devices; her limit is one.
class Watch : public EnforcerTest {
  protected:
    Watch() {
        settings.grace = 30s;
        settings.limits.general.maxDevices = 1;
        activate("20", alice);
        attachIndices("20", {0, 1});
        runReal(500, alice, {{1, gigabytes(1)}}, "20");
    }
    void cycle(std::chrono::microseconds later = 10s) {
        clock.pass(later);
        enforcer.watch(std::make_shared<const core::Observation>(seen), settings);
    }
    std::vector<core::RuleWarning> warnings() const { return emittedOf<core::RuleWarning>(); }
    core::Settings settings;
};

TEST_F(Watch, WarnsOnceAndActsAfterTheGrace) {
    cycle();
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_EQ(warnings()[0].user, alice);
    EXPECT_EQ(warnings()[0].rule, "max-devices-per-user");
    EXPECT_EQ(warnings()[0].message,
              "User alice is using 2 devices which is 1 more than the maximum allowed");
    EXPECT_EQ(warnings()[0].remaining, 30s);
    cycle();
    cycle(19s);
    EXPECT_EQ(devicesOf("20").size(), 2U);
    EXPECT_TRUE(observer.waiting.empty());
    cycle(1s);
    EXPECT_EQ(devicesOf("20").size(), 1U);
    look();
    EXPECT_EQ(signalled(500), 1U);
    EXPECT_EQ(warnings().size(), 1U);
    EXPECT_EQ(log.lines.size(), 1U) << "that it came to that; the warning is an event";
}

TEST_F(Watch, NamesTheEnvironmentThatAViolationIsAbout) {
    settings.limits = {};
    run(501, alice, {{3, gigabytes(1)}}, "20");
    cycle();
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_EQ(warnings()[0].environment, "20");
}

TEST_F(Watch, ForgetsAViolationThatEnded) {
    cycle();
    ledger.detach("20", {1}, alice);
    seen.processes.clear();
    cycle(25s);
    attachIndices("20", {1});
    cycle(10s);
    EXPECT_EQ(devicesOf("20").size(), 2U) << "it is a new violation";
    EXPECT_EQ(warnings().size(), 2U);
    cycle(30s);
    EXPECT_EQ(devicesOf("20").size(), 1U);
}

TEST_F(Watch, ActsAtOnceWithoutAGrace) {
    settings.grace = 0s;
    cycle();
    EXPECT_EQ(devicesOf("20").size(), 1U);
    EXPECT_TRUE(warnings().empty());
}

TEST_F(Watch, GivesEachViolationItsOwnGrace) {
    settings.limits = {};
    settings.rules.nonEnvProcesses = true;
    runReal(501, bob, {{2, gigabytes(1)}});
    cycle();
    runReal(502, bob, {{2, gigabytes(1)}});
    cycle(20s);
    cycle(10s);
    look();
    EXPECT_EQ(signalled(501), 1U);
    EXPECT_EQ(signalled(502), 0U);
    cycle(20s);
    look();
    EXPECT_EQ(signalled(502), 1U);
    EXPECT_EQ(signalled(501), 1U) << "it is ending, and is not told again";
}

TEST_F(Watch, SaysOnceWhatADryConfigurationWouldDoAndDoesNothing) {
    settings.dryRun = true;
    cycle();
    const auto dry = [this] {
        return std::count_if(log.lines.begin(), log.lines.end(), [](const std::string& line) {
            return line.rfind("dry run: ", 0) == 0;
        });
    };
    EXPECT_EQ(dry(), 0);
    cycle(30s);
    EXPECT_EQ(dry(), 2) << "a termination and a detachment";
    const auto lineCount = log.lines.size();
    cycle(30s);
    cycle(30s);
    EXPECT_EQ(log.lines.size(), lineCount);
    EXPECT_EQ(devicesOf("20").size(), 2U);
    EXPECT_TRUE(observer.waiting.empty());
    settings.dryRun = false;
    cycle();
    EXPECT_EQ(devicesOf("20").size(), 1U) << "the grace is long over";
}

TEST_F(Watch, FollowsTheSettingsAtEachCycle) {
    settings.limits.users["alice"].maxDevices = 2;
    cycle();
    EXPECT_TRUE(warnings().empty());
    settings.limits.users.clear();
    cycle();
    EXPECT_EQ(warnings().size(), 1U);
}

TEST_F(Watch, StandsBackWhileSomebodysCycleRuns) {
    table.general.maxDevices = 2;
    enforce();
    cycle();
    EXPECT_TRUE(warnings().empty());
    look();
    cycle();
    EXPECT_EQ(warnings().size(), 1U);
}

TEST_F(Watch, KeepsNobodyFromEnforcingAndBothEndAProcessOnce) {
    settings.grace = 0s;
    table.general.maxDevices = 0;
    cycle();
    enforce();
    look();
    look();
    EXPECT_EQ(answers.size(), 1U);
    EXPECT_TRUE(devicesOf("20").empty());
    EXPECT_EQ(signalled(500), 1U);
}

TEST_F(Watch, AsksTheDriverForNothingOfItsOwn) {
    settings.limits = {};
    cycle();
    cycle();
    EXPECT_TRUE(observer.waiting.empty()) << "the observation it was given is enough";
    EXPECT_TRUE(log.lines.empty());
}

} // namespace
} // namespace genv::tests
