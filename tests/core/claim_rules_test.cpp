// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules about holdings: their messages, their exemptions, and the order in which they detach.
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::Rule;
using Ids = std::vector<core::EnvironmentId>;

class ClaimRules : public RulesTest {
  protected:
    void activateExempt(const std::string& id, core::Uid uid) {
        auto wanted = newEnvironment(id, uid, static_cast<core::Pid>(std::stoul(id)));
        wanted.exempt = true;
        ledger.activate(std::move(wanted), std::nullopt, root);
    }
    void look() {
        seen.started = clock.bootNow();
        for (core::DeviceSample& device : seen.devices)
            device.reading.utilizationPercent = 50;
        idleness.observed(ledger, seen);
    }
};

TEST_F(ClaimRules, EndAnEnvironmentThatOutlivedItsTime) {
    table.general.maxLifetime = 2h;
    activate("20", alice);
    attachIndices("20", {0, 1});
    clock.pass(1h);
    activate("30", bob);
    clock.pass(1h);
    EXPECT_TRUE(findings().empty()) << "exactly at the limit";
    clock.pass(30min);
    run(500, alice, {{1, gigabytes(1)}}, "20");
    run(501, alice, {{0, gigabytes(1)}});
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::MaxLifetime);
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(found.environment, "20");
    EXPECT_EQ(found.message,
              "Environment 20 has been active for 2h 30min, 30min longer than allowed");
    EXPECT_EQ(found.consequences.ended, Ids{"20"});
    EXPECT_EQ(detachmentsOf(found), (Texts{"20/GPU-0", "20/GPU-1"}));
    EXPECT_EQ(pidsOf(found), Pids{500}) << "501 is of no environment";
}

TEST_F(ClaimRules, GiveRootAndExemptEnvironmentsAllTheTime) {
    table.general.maxLifetime = 2h;
    activate("20", root);
    activateExempt("30", alice);
    clock.pass(100h);
    EXPECT_TRUE(findings().empty());
}

TEST_F(ClaimRules, MeasureLifetimeByAClockThatNobodySets) {
    table.general.maxLifetime = 2h;
    activate("20", alice);
    clock.wall += 100h;
    EXPECT_TRUE(findings().empty());
}

TEST_F(ClaimRules, EndTheMostRecentEnvironmentsOfWhoHasTooMany) {
    table.general.maxEnvironments = 2;
    for (const char* id : {"23", "22", "21", "24"})
        activate(id, alice);
    activate("40", bob);
    attachIndices("24", {0});
    attachIndices("23", {1});
    run(500, alice, {{0, gigabytes(1)}}, "24");
    run(501, alice, {{1, gigabytes(1)}}, "23");
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::MaxEnvironmentsPerUser);
    EXPECT_EQ(found.message, "User alice has 4 active environments, 2 more than allowed");
    EXPECT_EQ(found.consequences.ended, (Ids{"24", "21"}));
    EXPECT_EQ(detachmentsOf(found), Texts{"24/GPU-0"});
    EXPECT_EQ(pidsOf(found), Pids{500});
}

TEST_F(ClaimRules, DoNotCountExemptEnvironmentsAndSpareRoot) {
    table.general.maxEnvironments = 1;
    activate("21", alice);
    activateExempt("22", alice);
    activate("30", root);
    activate("31", root);
    EXPECT_TRUE(findings().empty());
    activate("23", alice);
    EXPECT_EQ(finding().consequences.ended, Ids{"23"});
}

TEST_F(ClaimRules, DetachTheMostRecentDevicesOfWhoHasTooMany) {
    table.general.maxDevices = 2;
    activate("20", alice);
    activate("21", alice);
    attachIndices("20", {3});
    attachIndices("21", {0});
    EXPECT_TRUE(findings().empty());
    attachIndices("20", {2});
    attachIndices("21", {1});
    run(500, alice, {{1, gigabytes(1)}}, "21");
    run(501, alice, {{2, gigabytes(1)}}, "21");
    run(502, alice, {{3, gigabytes(1)}}, "20");
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::MaxDevicesPerUser);
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(found.message,
              "User alice is using 4 devices which is 2 more than the maximum allowed");
    EXPECT_EQ(detachmentsOf(found), (Texts{"21/GPU-1", "20/GPU-2"}));
    EXPECT_EQ(pidsOf(found), Pids{500}) << "501 is not on what its own environment lost";
    EXPECT_TRUE(found.consequences.ended.empty());
}

TEST_F(ClaimRules, DetachTheMostRecentDevicesOfAnEnvironmentThatHasTooMany) {
    table.general.maxDevicesPerEnvironment = 2;
    activate("20", alice);
    activate("21", alice);
    attachIndices("20", {3, 2});
    attachIndices("21", {1});
    EXPECT_TRUE(findings().empty()) << "three of a user, and two of an environment at most";
    attachIndices("20", {0});
    run(500, alice, {{0, gigabytes(1)}}, "20");
    run(501, alice, {{3, gigabytes(1)}}, "20");
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::MaxDevicesPerEnvironment);
    EXPECT_EQ(found.environment, "20");
    EXPECT_EQ(found.message, "Environment 20 is attached to 3 devices, 1 more than allowed");
    EXPECT_EQ(detachmentsOf(found), Texts{"20/GPU-0"});
    EXPECT_EQ(pidsOf(found), Pids{500});
}

TEST_F(ClaimRules, CountADeviceOnceAndTakeItFromAllEnvironmentsOfTheUser) {
    table.general.maxDevices = 1;
    for (const auto& [id, uid] : {std::pair("20", alice), {"21", alice}, {"40", bob}}) {
        activate(id, uid);
        attachShares(id, {0}, gigabytes(1));
    }
    EXPECT_TRUE(findings().empty());
    attachShares("20", {1}, gigabytes(1));
    attachShares("40", {1}, gigabytes(1));
    attachShares("21", {1}, gigabytes(1));
    const auto all = findings();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].message, "User alice is using 2 devices which is 1 more than the maximum "
                              "allowed");
    EXPECT_EQ(detachmentsOf(all[0]), (Texts{"20/GPU-1", "21/GPU-1"}));
    EXPECT_EQ(detachmentsOf(all[1]), Texts{"40/GPU-1"});
}

TEST_F(ClaimRules, GoByWhenTheUserFirstGotADevice) {
    table.general.maxDevices = 1;
    activate("20", alice);
    activate("21", alice);
    attachShares("20", {3}, gigabytes(1));
    attachShares("20", {0}, gigabytes(1));
    attachShares("21", {3}, gigabytes(1));
    EXPECT_EQ(detachmentsOf(finding()), Texts{"20/GPU-0"}) << "device 3 was the first";
}

TEST_F(ClaimRules, DoNotCountExemptAttachmentsAndSpareRoot) {
    table.general.maxDevices = 1;
    activate("20", alice);
    attachIndices("20", {0});
    attachExempt("20", {1, 2});
    activate("30", root);
    attachIndices("30", {0, 1, 2, 3}, true);
    EXPECT_TRUE(findings().empty());
    attachIndices("20", {3}, true);
    EXPECT_EQ(detachmentsOf(finding()), Texts{"20/GPU-3"});
}

TEST_F(ClaimRules, DetachAndEndWhatRunsOnIdleDevices) {
    table.general.idleTimeout = 10min;
    activate("20", alice);
    attachIndices("20", {0, 2});
    run(500, alice, {{0, gigabytes(1)}}, "20");
    look();
    clock.pass(10min);
    look();
    EXPECT_TRUE(findings().empty()) << "exactly at the limit";
    clock.pass(1min);
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::IdleTimeout);
    EXPECT_EQ(found.environment, "20");
    EXPECT_EQ(found.message, "Environment 20 has not used device 2 for 11min");
    EXPECT_EQ(detachmentsOf(found), Texts{"20/GPU-2"});
    EXPECT_TRUE(found.consequences.endings.empty());
    clock.pass(9min + 1s);
    const auto both = findings();
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(pidsOf(both[0]), Pids{500}) << "it was not seen working since";
}

TEST_F(ClaimRules, LeaveExemptAttachmentsAndRootsIdle) {
    table.general.idleTimeout = 10min;
    activate("20", alice);
    attachExempt("20", {0});
    activate("30", root);
    attachIndices("30", {1});
    look();
    clock.pass(1h);
    look();
    EXPECT_TRUE(findings().empty());
}

TEST_F(ClaimRules, FollowTheOrderInWhichEachSpares) {
    rules.switches.envDevices = true;
    table.general.maxLifetime = 2h;
    table.general.maxEnvironments = 1;
    table.general.maxDevices = 1;
    table.general.idleTimeout = 10min;
    activate("20", alice);
    attachIndices("20", {0});
    clock.pass(2h);
    activate("21", alice);
    attachIndices("21", {1, 2});
    look();
    clock.pass(20min);
    run(500, alice, {{0, gigabytes(1)}, {3, gigabytes(1)}}, "20");
    const auto all = findings();
    EXPECT_EQ(messagesOf(all),
              (Texts{"Process 500 from environment 20 is using non-attached GPU(s) 3",
                     "Environment 20 has been active for 2h 20min, 20min longer than allowed",
                     "User alice is using 2 devices which is 1 more than the maximum allowed",
                     "Environment 21 has not used device 1 for 20min"}))
        << "what ended is neither an environment too many nor a device too many nor idle";
    EXPECT_TRUE(all[1].consequences.endings.empty()) << "500 ends once";
    EXPECT_EQ(detachmentsOf(all[2]), Texts{"21/GPU-2"});
}

TEST_F(ClaimRules, NameAViolationTheSameForAsLongAsItLasts) {
    table.general.maxDevices = 1;
    activate("20", alice);
    attachIndices("20", {0, 1});
    const std::string subject = finding().subject;
    attachIndices("20", {2});
    EXPECT_EQ(finding().subject, subject);
    EXPECT_NE(finding().message, "");
}

TEST_F(ClaimRules, SpareRootWhoeverSetsTheLimits) {
    rules.limitsOf = [](const core::UserInfo&) {
        core::Limits one;
        one.maxDevices = 1;
        return one;
    };
    activate("20", root);
    attachIndices("20", {0, 1});
    EXPECT_TRUE(findings().empty());
    activate("30", alice);
    attachIndices("30", {2, 3});
    EXPECT_EQ(finding().user, alice);
}

TEST_F(ClaimRules, FindNothingAboutUsersWhoseLimitsNobodyKnows) {
    table.general.maxDevices = 1;
    activate("50", 4242);
    attachIndices("50", {0, 1});
    EXPECT_TRUE(findings().empty()) << "nobody described this user";
}

TEST(Rules, HaveNamesAndReasons) {
    EXPECT_EQ(core::nameOf(Rule::NonEnvProcesses), "non-env-processes");
    EXPECT_EQ(core::nameOf(Rule::MaxGpuMemoryPerUser), "max-gpu-memory-per-user");
    EXPECT_EQ(core::reasonOf(Rule::MaxLifetime).text(), "expired");
    EXPECT_EQ(core::reasonOf(Rule::IdleTimeout).text(), "idle");
    EXPECT_EQ(core::reasonOf(Rule::MaxDevicesPerUser).text(), "rule:max-devices-per-user");
}

} // namespace
} // namespace genv::tests
