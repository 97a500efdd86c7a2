// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules and Slurm's jobs: the only action is a request to Slurm about idle jobs.
#include "tests/core/enforcer_fixture.hpp"
#include "tests/core/fake_slurm.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::SlurmIdleAction;
using Kind = core::EnforcementEntry::Kind;

// GPUs 1 and 2 are reserved for Slurm, and alice's job 12 has both.
class JobRules : public EnforcerTest {
  protected:
    JobRules() {
        ledger.reserve({false, {"GPU-1", "GPU-2"}});
        ledger.startJob({12, alice, "alice", {"GPU-1", "GPU-2"}});
        settings.grace = 30s;
    }

    void
    runInJob(core::Pid pid, core::SlurmJobId job,
             const std::vector<std::pair<core::DeviceIndex, std::optional<core::Bytes>>>& uses) {
        states[pid] = processes.add(pid, alice);
        run(pid, alice, uses).slurm = core::SlurmCgroup{job, std::nullopt};
    }
    // Makes an observation in which the processes compute if `working`.
    void look(bool working) {
        seen.started = clock.bootNow();
        for (core::DeviceSample& device : seen.devices)
            device.reading.utilizationPercent = working ? 50 : 0;
        idleness.observed(ledger, seen);
    }
    void cycle(std::chrono::seconds later = 10s) {
        clock.pass(later);
        ofSlurm.watch(std::make_shared<const core::Observation>(seen), settings);
    }
    void idleFor(std::chrono::seconds time) {
        runInJob(500, 12, {{1, gigabytes(1)}});
        look(true);
        clock.pass(time);
        look(false);
    }
    std::vector<core::RuleWarning> warnings() const { return emittedOf<core::RuleWarning>(); }

    core::Settings settings;
    SlurmIdleAction action = SlurmIdleAction::Warn;
    FakeSlurm slurm;
    core::Enforcer ofSlurm{{ledger, observer, userBase, terminator, idleness, clock, events, log,
                            &slurm, [this] { return action; }}};
};

TEST_F(JobRules, SkipJobsInEveryLimit) {
    rules.switches = {true, true, true};
    table.general = {0, 0, 0, 0, mebibytes(1), mebibytes(1), 1s, std::nullopt};
    runInJob(500, 12, {{1, gigabytes(8)}, {2, gigabytes(8)}});
    clock.pass(1h);
    EXPECT_EQ(messagesOf(findings()), Texts{});
    ledger.deactivate("slurm-12", root);
    activate("20", alice);
    EXPECT_FALSE(findings().empty()) << "what is no job's is found";
}

TEST_F(JobRules, LeaveToSlurmWhichOfItsDevicesAJobUses) {
    rules.switches.envDevices = true;
    ledger.startJob({12, alice, "alice", {"GPU-1"}});
    runInJob(500, 12, {{1, gigabytes(1)}, {2, gigabytes(1)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    runInJob(501, 12, {{3, gigabytes(1)}});
    EXPECT_EQ(pidsOf(finding()), Pids{501}) << "a device that is not Slurm's to give";
}

TEST_F(JobRules, FindAProcessThatOnlyClaimsToBeOfAJob) {
    rules.switches.envDevices = true;
    ledger.startJob({12, alice, "alice", {"GPU-1"}});
    states[500] = processes.add(500, alice);
    core::ObservedProcess& process = run(500, alice, {{1, gigabytes(1)}, {2, gigabytes(1)}});
    process.environmentHint = core::EnvironmentHint{"slurm-12", std::nullopt};
    EXPECT_EQ(pidsOf(finding()), Pids{500}) << "GPU 2 is Slurm's, and not this job's";
    process.slurm = core::SlurmCgroup{12U, std::nullopt};
    EXPECT_EQ(messagesOf(findings()), Texts{});
}

TEST_F(JobRules, SpareAProcessOfAJobThatGenvHasYetToHearOf) {
    rules.switches.nonEnvProcesses = true;
    runInJob(500, 13, {{1, gigabytes(1)}});
    EXPECT_EQ(messagesOf(findings()), Texts{});
    runInJob(501, 13, {{0, gigabytes(1)}});
    EXPECT_EQ(pidsOf(finding()), Pids{501}) << "on a device that is not Slurm's";
}

TEST_F(JobRules, SpareNoProcessForOneOfItsDevices) {
    rules.switches.nonEnvProcesses = true;
    runInJob(500, 13, {{0, gigabytes(1)}, {1, gigabytes(1)}});
    EXPECT_EQ(pidsOf(finding()), Pids{500});
}

TEST_F(JobRules, NeverTakeADeviceFromAnIdleJob) {
    table.general.idleTimeout = std::chrono::hours{1};
    idleFor(2h);
    const auto found = finding();
    EXPECT_EQ(found.rule, core::Rule::IdleTimeout);
    EXPECT_EQ(found.user, alice);
    EXPECT_EQ(found.environment, "slurm-12");
    EXPECT_EQ(found.message, "Slurm job 12 has not used GPU(s) 1,2 for 2h");
    EXPECT_TRUE(found.consequences.detachments.empty() && found.consequences.endings.empty() &&
                found.consequences.ended.empty());
    EXPECT_EQ(found.consequences.idleJobs, std::vector<core::SlurmJobId>{12});
}

TEST_F(JobRules, FindNoJobIdleThatUsesOneOfItsDevices) {
    table.general.idleTimeout = std::chrono::hours{1};
    runInJob(500, 12, {{1, gigabytes(1)}});
    look(true);
    clock.pass(2h);
    look(true);
    EXPECT_EQ(messagesOf(findings()), Texts{});
}

// The process's uids are those of the container, so it is not a member of the job.
TEST_F(JobRules, FindNoJobIdleWhoseContainerUsesOneOfItsDevices) {
    table.general.idleTimeout = std::chrono::hours{1};
    states[500] = processes.add(500, 100500);
    run(500, 100500, {{1, gigabytes(1)}}).slurm = core::SlurmCgroup{12U, std::nullopt};
    look(true);
    clock.pass(2h);
    look(true);
    EXPECT_EQ(messagesOf(findings()), Texts{});
}

TEST_F(JobRules, WarnOnceAndDoNothingByDefault) {
    settings.limits.general.idleTimeout = std::chrono::hours{1};
    idleFor(2h);
    for (int i = 0; i < 6; ++i)
        cycle();
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_EQ(warnings()[0].user, alice);
    EXPECT_EQ(warnings()[0].environment, "slurm-12");
    EXPECT_EQ(warnings()[0].remaining, 0s) << "nothing follows";
    EXPECT_TRUE(slurm.asked.empty());
    EXPECT_EQ(devicesOf("slurm-12").size(), 2U);
}

TEST_F(JobRules, OnlyWarnWithoutSlurm) {
    settings.limits.general.idleTimeout = std::chrono::hours{1};
    action = SlurmIdleAction::Cancel;
    core::Enforcer withoutSlurm{{ledger, observer, userBase, terminator, idleness, clock, events,
                                 log, nullptr, [this] { return action; }}};
    idleFor(2h);
    for (int i = 0; i < 6; ++i) {
        clock.pass(10s);
        withoutSlurm.watch(std::make_shared<const core::Observation>(seen), settings);
    }
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_EQ(warnings()[0].remaining, 0s) << "nothing follows";
    EXPECT_EQ(devicesOf("slurm-12").size(), 2U);
}

TEST_F(JobRules, AskSlurmToCancelAnIdleJobAfterTheGrace) {
    settings.limits.general.idleTimeout = std::chrono::hours{1};
    action = SlurmIdleAction::Cancel;
    idleFor(2h);
    cycle();
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_EQ(warnings()[0].remaining, 30s);
    cycle(20s);
    EXPECT_TRUE(slurm.asked.empty());
    for (int i = 0; i < 6; ++i)
        cycle();
    EXPECT_EQ(slurm.asked, Texts{"cancel 12"}) << "once";
    slurm.answer();
    EXPECT_NE(ledger.find("slurm-12"), nullptr) << "the epilog ends it";
    cycle(301s);
    EXPECT_EQ(slurm.asked.size(), 2U) << "it is there still";
}

TEST_F(JobRules, WarnAnewAndGiveTheGraceWhereTheConfigurationDoesMoreThanWarnFromNowOn) {
    settings.limits.general.idleTimeout = std::chrono::hours{1};
    idleFor(2h);
    for (int i = 0; i < 6; ++i)
        cycle();
    ASSERT_EQ(warnings().size(), 1U);
    action = SlurmIdleAction::Cancel;
    cycle();
    ASSERT_EQ(warnings().size(), 2U);
    EXPECT_EQ(warnings()[1].remaining, 30s);
    cycle(20s);
    EXPECT_EQ(slurm.asked, Texts{});
    cycle();
    EXPECT_EQ(slurm.asked, Texts{"cancel 12"});
    action = SlurmIdleAction::Requeue;
    cycle();
    action = SlurmIdleAction::Warn;
    cycle();
    EXPECT_EQ(warnings().size(), 2U) << "they were told more";
}

TEST_F(JobRules, AskSlurmToRequeueAnIdleJobAndSayWhyItDidNot) {
    table.general.idleTimeout = std::chrono::hours{1};
    action = SlurmIdleAction::Requeue;
    idleFor(2h);
    ofSlurm.run(rules, {}, keep());
    EnforcerTest::look();
    EXPECT_EQ(slurm.asked, Texts{"requeue 12"});
    EXPECT_TRUE(answers.empty()) << "it is answered when Slurm has";
    slurm.answer(core::SlurmFailure{"Requested operation is disabled\x1b"});
    EXPECT_EQ(kinds(), (std::vector{Kind::Finding, Kind::Failed}));
    EXPECT_EQ(messages()[1], "[ERROR] Slurm did nothing about job 12: Requested operation is "
                             "disabled\\x1b");
}

TEST_F(JobRules, SayInADryRunWhatSlurmWouldBeAsked) {
    table.general.idleTimeout = std::chrono::hours{1};
    action = SlurmIdleAction::Cancel;
    idleFor(2h);
    ofSlurm.run(rules, {.dryRun = true}, keep());
    EnforcerTest::look();
    EXPECT_EQ(kinds(), (std::vector{Kind::Finding, Kind::Cancel}));
    EXPECT_EQ(messages()[1], "Would cancel Slurm job 12 of user alice");
    EXPECT_TRUE(slurm.asked.empty());
}

TEST_F(JobRules, SayThatAnIdleJobIsOrWouldBeRequeued) {
    table.general.idleTimeout = std::chrono::hours{1};
    action = SlurmIdleAction::Requeue;
    idleFor(2h);
    ofSlurm.run(rules, {.dryRun = true}, keep());
    EnforcerTest::look();
    EXPECT_EQ(kinds(), (std::vector{Kind::Finding, Kind::Requeue}));
    EXPECT_EQ(messages()[1], "Would requeue Slurm job 12 of user alice");
    answers.clear();
    ofSlurm.run(rules, {}, keep());
    EnforcerTest::look();
    slurm.answer();
    EXPECT_EQ(messages()[1], "Requeueing Slurm job 12 of user alice");
}

TEST_F(JobRules, RefuseAReportThatWouldDetachAJob) {
    ofSlurm.execute({{}, {{1, {"slurm-12"}}}}, {}, keep());
    EnforcerTest::look();
    EXPECT_EQ(kinds(), std::vector{Kind::Failed});
    EXPECT_EQ(messages()[0], "[ERROR] GPUs 1,2 belong to Slurm job 12; scancel 12 ends it");
    EXPECT_EQ(devicesOf("slurm-12").size(), 2U);
}

TEST(JobActions, HaveTheNamesThatTheBusTells) {
    EXPECT_EQ(core::nameOf(Kind::Cancel), "cancel");
    EXPECT_EQ(core::nameOf(Kind::Requeue), "requeue");
}

} // namespace
} // namespace genv::tests
