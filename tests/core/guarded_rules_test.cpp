// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules about processes outside environments while isolation is in force: they go by what their
// users hold. Each test escapes from an environment in another way.
#include "tests/core/enforcer_fixture.hpp"
#include "tests/core/isolation_fixture.hpp"
#include "tests/core/rules_fixture.hpp"

namespace genv::tests {
namespace {

using core::IsolationMode;
using core::Rule;

// alice holds GPU 1, and isolation guards all GPUs.
template <typename Fixture>
class Guarded : public Fixture {
  protected:
    Guarded() {
        settings.mode = IsolationMode::User;
        this->ledger.guardBy(&isolation);
        for (core::DeviceSample& sample : this->seen.devices)
            sample.nodes = {{195, sample.facts.index}};
        observe();
        this->rules.switches.envDevices = true;
        this->activate("20", alice);
        this->attachIndices("20", {1});
        this->guarded = [this](const core::ObservedProcess& process) {
            return isolation.guardedUses()(process);
        };
    }
    void observe() {
        isolation.learn(this->seen);
        this->ledger.observed(this->seen);
        isolation.checkAll();
    }

    FakeGates gates;
    KeptLog isolationLog;
    core::IsolationSettings settings;
    core::Isolation isolation{this->ledger, gates, this->events, isolationLog,
                              [this]() -> const core::IsolationSettings& { return settings; }};
};

class GuardedRules : public Guarded<RulesTest> {
  protected:
    /// Runs a process of alice that left her environment: on GPU 0, which she does not hold.
    core::ObservedProcess& runAway() { return run(500, alice, {{0, gigabytes(1)}}); }
};

TEST_F(GuardedRules, EndAProcessThatLeftItsEnvironmentOnAGpuThatItsUserDoesNotHold) {
    run(500, alice, {{3, gigabytes(1)}, {1, gigabytes(1)}, {0, gigabytes(1)}});
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::EnvDevices);
    EXPECT_EQ(found.message, "Process 500 of user alice, outside every environment, is using "
                             "GPU(s) 0,3 which the user does not hold");
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(found.environment, std::nullopt);
    EXPECT_EQ(pidsOf(found), Pids{500});
}

TEST_F(GuardedRules, SpareAProcessOutsideEnvironmentsOnAGpuThatItsUserHolds) {
    run(500, alice, {{1, gigabytes(1)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    run(501, bob, {{1, gigabytes(1)}});
    EXPECT_EQ(pidsOf(finding()), Pids{501});
}

// A descriptor stays usable: the device was detached, its lease ended, or its environment ended.
TEST_F(GuardedRules, EndAProcessThatKeepsAGpuWhichItsUserGaveBack) {
    run(500, alice, {{1, gigabytes(1)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    ledger.detach("20", {1}, alice);
    EXPECT_EQ(pidsOf(finding()), Pids{500});
    attachIndices("20", {1});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    ledger.deactivate("20", alice);
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

TEST_F(GuardedRules, EndAProcessThatNamesAnothersEnvironmentOrOneThatEnded) {
    activate("40", bob);
    attachIndices("40", {0});
    runAway().environmentHint = core::EnvironmentHint{"40", std::nullopt};
    EXPECT_EQ(pidsOf(finding()), Pids{500});
    seen.processes.clear();
    runAway().environmentHint = core::EnvironmentHint{"19", std::nullopt};
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

TEST_F(GuardedRules, EndAProcessWithPartOfAnothersUids) {
    runAway().facts.uids = {bob, alice, alice, alice};
    EXPECT_EQ(finding().user, bob) << "the real uid counts, as for the kernel";
}

TEST_F(GuardedRules, TakeSubordinateUidsForTheirOwner) {
    gates.grantees[100'004] = alice;
    run(500, 100'004, {{1, gigabytes(1)}}).userNamespaceOwner = alice;
    EXPECT_EQ(messagesOf(findings()), Texts{});
    run(501, 100'004, {{0, gigabytes(1)}}).userNamespaceOwner = alice;
    const auto found = finding();
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(pidsOf(found), Pids{501});
}

TEST_F(GuardedRules, SpareAUserNamespaceOfTheHolderWithoutSubordinateUids) {
    run(500, 100'004, {{1, gigabytes(1)}}).userNamespaceOwner = alice;
    EXPECT_EQ(messagesOf(findings()), Texts{});
    run(501, alice, {{1, gigabytes(1)}}).userNamespaceOwner = bob;
    EXPECT_EQ(messagesOf(findings()), Texts{}) << "its real uid is the holder's";
}

TEST_F(GuardedRules, SpareProcessesWithAUidOfRootAndThoseOfExemptUsers) {
    runAway().facts.uids = {alice, alice, 0, alice};
    run(501, root, {{0, gigabytes(1)}});
    gates.grantees[bob] = std::nullopt;
    run(502, bob, {{0, gigabytes(1)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    gates.grantees.clear(); // genvd ended the exemption
    EXPECT_EQ(pidsOf(finding()), Pids{502});
}

// Nobody ends for what the kernel does not tell.
TEST_F(GuardedRules, SpareEverybodyWhileTheKernelDoesNotTellWhoIsExempt) {
    runAway();
    gates.fails = true;
    EXPECT_EQ(messagesOf(findings()), Texts{});
    gates.fails = false;
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

TEST_F(GuardedRules, SpareGpusThatIsolationDoesNotGuard) {
    runAway();
    settings.openDevices = {"GPU-0"};
    observe();
    EXPECT_EQ(messagesOf(findings()), Texts{}) << "open by configuration";
    settings.openDevices.clear();
    core::SlurmDevices slurms;
    slurms.uuids = {"GPU-0"};
    ledger.reserve(slurms);
    observe();
    EXPECT_EQ(messagesOf(findings()), Texts{}) << "Slurm's";
    ledger.reserve({});
    gates.unguardable = {1};
    seen.devices[0].nodes = {{1, 3}};
    observe();
    EXPECT_EQ(messagesOf(findings()), Texts{}) << "not a node of a GPU's driver";
    seen.devices[0].nodes = {{195, 0}};
    observe();
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

TEST_F(GuardedRules, SpareEverybodyWhileIsolationIsNotInForce) {
    runAway();
    const auto expectNone = [this](const char* when) {
        isolation.checkAll();
        EXPECT_EQ(messagesOf(findings()), Texts{}) << when;
    };
    for (const IsolationMode mode : {IsolationMode::None, IsolationMode::Watch}) {
        settings.mode = mode;
        expectNone("another mode");
    }
    settings.mode = IsolationMode::User;
    gates.suspended = true;
    expectNone("suspended");
    gates.suspended = false;
    gates.why = "genv-isolation.service has not run";
    expectNone("no gate");
    gates.why.clear();
    isolation.checkAll();
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

TEST_F(GuardedRules, SpareProtectedAndUnreadProcessesAndHeedTheSwitch) {
    runAway();
    shielded = {500}; // as the MPS server is
    EXPECT_EQ(messagesOf(findings()), Texts{});
    shielded.clear();
    seen.processes[0].isUnread = true;
    EXPECT_EQ(messagesOf(findings()), Texts{});
    seen.processes[0].isUnread = false;
    rules.switches.envDevices = false;
    EXPECT_EQ(messagesOf(findings()), Texts{});
}

TEST_F(GuardedRules, FindAProcessOnceWithBothRulesAboutIt) {
    rules.switches.nonEnvProcesses = true;
    runAway();
    EXPECT_EQ(finding().rule, Rule::NonEnvProcesses);
}

TEST_F(GuardedRules, JudgeAProcessInAnEnvironmentAsBefore) {
    activate("21", alice);
    run(500, alice, {{1, gigabytes(1)}}, "21");
    EXPECT_EQ(finding().message, "Process 500 from environment 21 is using non-attached GPU(s) 1")
        << "although environment 20 of the same user holds it";
}

// -- env-memory

class GuardedShares : public Guarded<RulesTest> {
  protected:
    GuardedShares() {
        rules.switches.envMemory = true;
        attachShares("20", {2}, mebibytes(1000));
    }
};

TEST_F(GuardedShares, HoldTheMemoryOutsideEnvironmentsToTheUsersShare) {
    run(500, alice, {{2, mebibytes(1000)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    run(501, alice, {{2, mebibytes(24)}});
    const auto found = finding();
    EXPECT_EQ(found.rule, Rule::EnvMemory);
    EXPECT_EQ(found.message, "User alice, in part outside environments, is using 1024mi on device "
                             "2 which is 24mi over the user's shares of 1000mi");
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(pidsOf(found), Pids{501});
}

TEST_F(GuardedShares, LeaveTheEnvironmentItsOwnAndEndWhatIsOutside) {
    run(500, alice, {{2, mebibytes(900)}}, "20");
    run(501, alice, {{2, mebibytes(100)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    run(502, alice, {{2, mebibytes(900)}});
    EXPECT_EQ(pidsOf(finding()), Pids{502});
}

TEST_F(GuardedShares, AddUpAndDoNotLimitAWholeGpu) {
    activate("21", alice);
    attachShares("21", {2}, mebibytes(500));
    run(500, alice, {{2, mebibytes(1500)}, {1, gigabytes(70)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    seen.processes[0].uses[0].usedMemory = mebibytes(1501);
    EXPECT_EQ(pidsOf(finding()), Pids{500});
    attachIndices("21", {2});
    activate("22", alice);
    attach("22", {core::IndicesWanted{{2}}, std::nullopt, std::nullopt, true});
    EXPECT_EQ(messagesOf(findings()), Texts{});
}

TEST_F(GuardedShares, CountASharedChildOnce) {
    core::NewEnvironment child = newEnvironment("21", alice, 21);
    child.parent = "20";
    ledger.activate(std::move(child), std::nullopt, alice);
    attach("21", {core::IndicesWanted{{2}}, std::nullopt, mebibytes(400), false});
    run(500, alice, {{2, mebibytes(400)}}, "21");
    run(501, alice, {{2, mebibytes(601)}});
    EXPECT_EQ(pidsOf(finding()), Pids{501});
}

TEST_F(GuardedShares, NeverSumTheUnknownAndSpareTheExempt) {
    run(500, alice, {{2, std::nullopt}});
    run(501, alice, {{2, mebibytes(1000)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    run(502, alice, {{2, mebibytes(1)}});
    EXPECT_EQ(pidsOf(finding()), Pids{502});
    gates.grantees[alice] = std::nullopt;
    EXPECT_EQ(messagesOf(findings()), Texts{});
}

TEST_F(GuardedShares, AreNotOfInterestWithoutIsolation) {
    run(500, alice, {{2, gigabytes(60)}});
    EXPECT_EQ(findings().size(), 1U);
    settings.mode = IsolationMode::None;
    isolation.checkAll();
    EXPECT_EQ(messagesOf(findings()), Texts{});
}

// -- the cycle of the service

class GuardedCycles : public Guarded<EnforcerTest> {
  protected:
    core::Enforcer guarding{
        {ledger, observer, userBase, terminator, idleness, clock, events, log, nullptr, {}, [this] {
             return isolation.guardedUses();
         }}};
};

TEST_F(GuardedCycles, WarnTheUserFirstAndEndTheProcessAfterTheGracePeriod) {
    core::Settings own;
    own.rules = rules.switches;
    const auto cycle = [&] { guarding.watch(std::make_shared<core::Observation>(seen), own); };
    runReal(500, alice, {{0, gigabytes(1)}});
    cycle();
    const auto warnings = emittedOf<core::RuleWarning>();
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0].user, alice);
    EXPECT_EQ(warnings[0].rule, "env-devices");
    EXPECT_EQ(warnings[0].environment, std::nullopt);
    clock.pass(own.grace);
    cycle();
    look(); // the terminator looks again before it sends the signal
    EXPECT_EQ(signalled(500), 1U);
    EXPECT_EQ(emittedOf<core::RuleWarning>().size(), 1U);
}

} // namespace
} // namespace genv::tests
