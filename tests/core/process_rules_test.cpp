// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules about compute processes: their messages, their exemptions, and their choice of
// processes.
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

using core::Rule;

class ProcessRules : public RulesTest {
  protected:
    ProcessRules() {
        activate("20", alice);
        activate("40", bob);
    }
};

// -- non-env-processes

class NonEnvRule : public ProcessRules {
  protected:
    NonEnvRule() { rules.switches.nonEnvProcesses = true; }
};

TEST_F(NonEnvRule, EndsAProcessOfNoEnvironment) {
    run(500, alice, {{0, gigabytes(1)}, {2, gigabytes(1)}});
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::NonEnvProcesses);
    EXPECT_EQ(found.message, "Process 500 is not running in a GPU environment");
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(found.environment, std::nullopt);
    ASSERT_EQ(pidsOf(found), Pids{500});
    EXPECT_EQ(found.consequences.endings[0].devices,
              (std::vector<core::DeviceUuid>{"GPU-0", "GPU-2"}));
    EXPECT_EQ(found.consequences.endings[0].environment, std::nullopt);
    EXPECT_TRUE(found.consequences.detachments.empty() && found.consequences.ended.empty());
}

TEST_F(NonEnvRule, SparesWhatIsInAnEnvironmentAlsoByDescent) {
    run(500, alice, {{0, gigabytes(1)}}, "20");
    run(501, alice, {{0, gigabytes(1)}}).ancestors = {{300, 7}, {20, 7}};
    EXPECT_TRUE(findings().empty());
}

TEST_F(NonEnvRule, DoesNotBelieveAProcessThatNamesAnothersEnvironment) {
    run(500, alice, {{0, gigabytes(1)}}, "40");
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

TEST_F(NonEnvRule, JudgesAProcessThatCannotBeReadAndNoneThatWasNotRead) {
    run(500, alice, {{0, gigabytes(1)}}).facts.identity.startTime =
        core::ProcessIdentity::unreadStart + 1;
    run(501, alice, {{0, gigabytes(1)}}).isUnread = true;
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

TEST_F(NonEnvRule, SparesAProcessOfWhichAnyUidIsRoots) {
    const std::vector<core::ProcessUids> cases{
        {0, 0, 0, 0},         {0, alice, alice, alice}, {alice, 0, alice, alice},
        {alice, alice, 0, 0}, {alice, alice, 0, alice}, {alice, alice, alice, 0}};
    for (const core::ProcessUids& uids : cases) {
        seen.processes.clear();
        run(500, alice, {{0, gigabytes(1)}}).facts.uids = uids;
        EXPECT_TRUE(findings().empty()) << uids.real << uids.effective << uids.saved;
    }
}

// A process of a rootless container has a subordinate uid, which has no user name.
TEST_F(NonEnvRule, WarnsWhoMadeTheUserNamespace) {
    run(500, 100'004, {{0, gigabytes(1)}}).userNamespaceOwner = alice;
    const auto found = finding();
    EXPECT_EQ(found.user, alice);
    ASSERT_EQ(pidsOf(found), Pids{500});
    EXPECT_EQ(found.consequences.endings[0].user, alice);
}

TEST_F(NonEnvRule, SparesProtectedProcessesAndIsOffUnlessAskedFor) {
    run(500, alice, {{0, gigabytes(1)}});
    shielded = {500};
    EXPECT_TRUE(findings().empty());
    shielded.clear();
    rules.switches.nonEnvProcesses = false;
    EXPECT_TRUE(findings().empty());
}

// -- env-devices

class EnvDevicesRule : public ProcessRules {
  protected:
    EnvDevicesRule() {
        rules.switches.envDevices = true;
        attachIndices("20", {1});
    }
};

TEST_F(EnvDevicesRule, EndsAProcessOnDevicesItsEnvironmentDoesNotHold) {
    run(500, alice, {{3, gigabytes(1)}, {1, gigabytes(1)}, {0, gigabytes(1)}}, "20");
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::EnvDevices);
    EXPECT_EQ(found.message, "Process 500 from environment 20 is using non-attached GPU(s) 0,3");
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(found.environment, "20");
    EXPECT_EQ(pidsOf(found), Pids{500});
    EXPECT_EQ(found.consequences.endings[0].environment, "20");
}

TEST_F(EnvDevicesRule, SparesProcessesWhereTheyBelongAndThoseOfNoEnvironment) {
    run(500, alice, {{1, gigabytes(1)}}, "20");
    run(501, bob, {{0, gigabytes(1)}});
    EXPECT_TRUE(findings().empty());
    run(502, bob, {{0, gigabytes(1)}}, "40");
    EXPECT_EQ(pidsOf(finding()), Pids{502});
    shielded = {502};
    EXPECT_TRUE(findings().empty());
    shielded.clear();
    rules.switches.envDevices = false;
    EXPECT_TRUE(findings().empty());
}

TEST_F(EnvDevicesRule, AppliesToRootsProcessesInAnEnvironmentToo) {
    run(500, root, {{0, gigabytes(1)}}, "20");
    EXPECT_EQ(finding().user, alice) << "it is the owner who is warned";
}

// -- env-memory

class EnvMemoryRule : public ProcessRules {
  protected:
    EnvMemoryRule() {
        rules.switches.envMemory = true;
        attachShares("20", {1}, mebibytes(1000));
    }
};

TEST_F(EnvMemoryRule, EndsWhatGoesOverTheShare) {
    run(500, alice, {{1, mebibytes(1042)}}, "20");
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::EnvMemory);
    EXPECT_EQ(found.message, "Environment 20 is using 1042mi on device 1 which is 42mi over its "
                             "capacity of 1000mi");
    EXPECT_EQ(found.environment, "20");
    EXPECT_EQ(pidsOf(found), Pids{500});
}

TEST_F(EnvMemoryRule, IsContentExactlyAtTheShare) {
    run(500, alice, {{1, mebibytes(600)}}, "20");
    run(501, alice, {{1, mebibytes(400)}}, "20");
    EXPECT_TRUE(findings().empty());
    seen.processes[0].uses[0].usedMemory->count += 1;
    EXPECT_EQ(findings().size(), 1U);
}

TEST_F(EnvMemoryRule, CountsOnlyTheEnvironmentsOwnProcessesOnThatDevice) {
    attachShares("20", {2}, mebibytes(1000));
    attachIndices("40", {3});
    run(500, alice, {{1, mebibytes(900)}, {2, mebibytes(900)}}, "20");
    run(501, bob, {{1, mebibytes(900)}}, "40");
    run(502, alice, {{1, mebibytes(900)}});
    run(503, bob, {{3, gigabytes(900)}}, "40");
    EXPECT_TRUE(findings().empty()) << "a whole device has no capacity either";
}

TEST_F(EnvMemoryRule, NeverSumsWhatTheDriverDoesNotKnow) {
    run(500, alice, {{1, std::nullopt}}, "20");
    run(501, alice, {{1, mebibytes(1000)}}, "20");
    EXPECT_TRUE(findings().empty());
    run(502, alice, {{1, mebibytes(1)}}, "20");
    EXPECT_EQ(pidsOf(finding()), Pids{502}) << "the smallest that suffices, and never the unknown";
}

TEST_F(EnvMemoryRule, EndsTheFewestAndForTheLastPlaceTheSmallestThatSuffices) {
    struct Case {
        std::vector<std::uint64_t> sizes; ///< of processes 500, 501, ...
        Pids ended;
    };
    const std::vector<Case> cases{
        {{1001}, {500}},
        {{900, 50, 80}, {501}},     // 30 above the limit: ending 50 is enough, and so is 80 or 900
        {{900, 50, 80, 30}, {502}}, // 60 above the limit
        {{600, 700, 800}, {502, 500}},         // 1100 above: the largest, then 300 remain
        {{600, 700, 800, 310}, {502, 501}},    // 1410 above: then 610 remain
        {{600, 700, 800, 290}, {502, 500}},    // 1390 above: then 590 remain
        {{400, 400, 400}, {500}},              // the one that started last, not the highest PID
        {{2000, 2000, 2000}, {501, 502, 500}}, // all must end
        {{5000, 1, 2, 3}, {500}},              // the others may stay
    };
    for (const Case& each : cases) {
        seen.processes.clear();
        core::Pid pid = 500;
        std::uint64_t total = 0;
        for (const std::uint64_t size : each.sizes) {
            run(pid, alice, {{1, mebibytes(size)}}, "20", pid == 500 ? 900 : 100);
            ++pid;
            total += size;
        }
        const auto found = finding();
        const std::set<core::Pid> ended = [&] {
            const Pids pids = pidsOf(found);
            return std::set<core::Pid>(pids.begin(), pids.end());
        }();
        EXPECT_EQ(ended, std::set<core::Pid>(each.ended.begin(), each.ended.end()))
            << ::testing::PrintToString(each.sizes) << " sum " << total;
    }
}

TEST_F(EnvMemoryRule, PrefersTheProcessThatStartedLastAmongEquals) {
    run(500, alice, {{1, mebibytes(600)}}, "20", 10);
    run(501, alice, {{1, mebibytes(600)}}, "20", 30);
    run(502, alice, {{1, mebibytes(300)}}, "20", 40);
    run(503, alice, {{1, mebibytes(100)}}, "20", 50);
    EXPECT_EQ(pidsOf(finding()), Pids{501}) << "600 too much: one of the two largest";
    seen.processes[0].facts.identity.startTime = 31;
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

// -- max-processes-per-user

class MaxProcessesRule : public ProcessRules {
  protected:
    MaxProcessesRule() {
        table.general.maxProcesses = 2;
        attachIndices("20", {0});
    }
};

TEST_F(MaxProcessesRule, EndsTheMostRecentlyStarted) {
    run(500, alice, {{0, gigabytes(1)}}, "20", 40);
    run(501, alice, {{0, gigabytes(1)}}, "20", 10);
    EXPECT_TRUE(findings().empty());
    run(502, alice, {{0, gigabytes(1)}}, std::nullopt, 30);
    run(503, alice, {{0, gigabytes(1)}}, "20", 20);
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::MaxProcessesPerUser);
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(found.message, "User alice is running 4 compute processes, 2 more than allowed");
    EXPECT_EQ(pidsOf(found), (Pids{500, 502}));
}

TEST_F(MaxProcessesRule, CountsAProcessForTheOwnerOfItsEnvironment) {
    run(500, root, {{0, gigabytes(1)}}, "20", 1);
    run(501, alice, {{0, gigabytes(1)}}, "20", 2);
    run(502, bob, {{0, gigabytes(1)}}, "20", 3);
    EXPECT_TRUE(findings().empty()) << "bob's process is not of alice's environment";
    run(503, root, {{0, gigabytes(1)}}, "20", 4);
    EXPECT_EQ(pidsOf(finding()), Pids{503});
}

TEST_F(MaxProcessesRule, SparesRootAndProtectedProcesses) {
    for (core::Pid pid = 500; pid < 510; ++pid)
        run(pid, root, {{0, gigabytes(1)}});
    for (core::Pid pid = 600; pid < 603; ++pid)
        run(pid, alice, {{0, gigabytes(1)}});
    shielded = {600};
    EXPECT_TRUE(findings().empty());
}

// -- max-gpu-memory-per-device and -per-user

class MemoryRules : public ProcessRules {
  protected:
    MemoryRules() { attachIndices("20", {0, 1}); }
};

TEST_F(MemoryRules, EndWhatGoesOverTheLimitOfADevice) {
    table.general.maxGpuMemoryPerDevice = mebibytes(1000);
    run(500, alice, {{0, mebibytes(700)}, {1, mebibytes(1000)}}, "20");
    run(501, alice, {{0, mebibytes(300)}});
    EXPECT_TRUE(findings().empty());
    run(502, alice, {{0, mebibytes(8)}}, "20");
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::MaxGpuMemoryPerDevice);
    EXPECT_EQ(found.message, "User alice is using 1008mi on device 0, 8mi more than allowed");
    EXPECT_EQ(pidsOf(found), Pids{502});
}

TEST_F(MemoryRules, EndWhatGoesOverTheLimitOfAUser) {
    table.general.maxGpuMemory = mebibytes(1000);
    run(500, alice, {{0, mebibytes(300)}, {1, mebibytes(300)}}, "20");
    run(501, alice, {{2, mebibytes(400)}});
    run(502, bob, {{2, mebibytes(1000)}});
    EXPECT_TRUE(findings().empty());
    run(503, alice, {{3, mebibytes(450)}});
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::MaxGpuMemoryPerUser);
    EXPECT_EQ(found.message, "User alice is using 1450mi of GPU memory, 450mi more than allowed");
    EXPECT_EQ(pidsOf(found), Pids{503})
        << "400 does not suffice, 450 does, 600 is more than needed";
}

TEST_F(MemoryRules, EndNoMoreThanNeeded) {
    table.general.maxGpuMemoryPerDevice = mebibytes(100);
    for (core::Pid pid = 500; pid < 510; ++pid)
        run(pid, alice, {{0, mebibytes(20)}}, "20");
    EXPECT_EQ(finding().consequences.endings.size(), 5U);
    table.general.maxGpuMemoryPerDevice.reset();
    table.general.maxGpuMemory = mebibytes(100);
    EXPECT_EQ(finding().consequences.endings.size(), 5U);
    EXPECT_EQ(pidsOf(finding()), (Pids{509, 508, 507, 506, 505}));
}

TEST_F(MemoryRules, SpareWhatWasGrantedOverALimitRootAndTheUnknown) {
    table.general.maxGpuMemoryPerDevice = mebibytes(100);
    table.general.maxGpuMemory = mebibytes(100);
    attachExempt("20", {2});
    run(500, alice, {{2, mebibytes(5000)}, {0, mebibytes(100)}}, "20");
    run(501, alice, {{0, std::nullopt}}, "20");
    run(502, root, {{0, mebibytes(5000)}});
    run(503, alice, {{0, mebibytes(5000)}}, "20");
    shielded = {503};
    EXPECT_TRUE(findings().empty());
    run(504, alice, {{2, mebibytes(1)}});
    EXPECT_EQ(findings().size(), 1U) << "it is not of the environment that was spared";
}

TEST_F(MemoryRules, DoNotCountAgainWhatARuleBeforeHasEnded) {
    rules.switches.nonEnvProcesses = true;
    table.general.maxGpuMemoryPerDevice = mebibytes(100);
    table.general.maxGpuMemory = mebibytes(100);
    table.general.maxProcesses = 1;
    run(500, alice, {{0, mebibytes(90)}}, "20");
    run(501, alice, {{0, mebibytes(500)}});
    EXPECT_EQ(messagesOf(findings()), Texts{"Process 501 is not running in a GPU environment"});
    run(502, alice, {{0, mebibytes(500)}}, "20", 9);
    const auto all = findings();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].rule, Rule::MaxProcessesPerUser);
    EXPECT_EQ(pidsOf(all[1]), Pids{502}) << "and its memory is not counted either";
}

} // namespace
} // namespace genv::tests
