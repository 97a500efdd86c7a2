// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm jobs whose prolog did not report their start, or whose epilog did not report their end.
#include "core/slurm/jobs.hpp"
#include "tests/core/fake_slurm.hpp"
#include "tests/core/jobs_fixture.hpp"

namespace genv::tests {

using Texts = std::vector<std::string>;

namespace {

using namespace std::chrono_literals;

class SlurmJobs : public SlurmJobLedger {
  protected:
    SlurmJobs() {
        ledger.reserve({false, {"GPU-1", "GPU-2"}});
        users.add(alice, "alice");
        users.add(bob, "bob");
        events.subscribe([this](const core::Event& event) { jobs.onEvent(event); });
    }

    static core::ObservedProcess inJob(const core::SlurmJobName& job, core::Uid uid,
                                       const Texts& devices,
                                       std::optional<core::Uid> owner = std::nullopt) {
        core::ObservedProcess process = computeProcess(500, uid, devices);
        process.slurm = core::SlurmCgroup{job, owner};
        return process;
    }
    void see(const std::vector<core::ObservedProcess>& running) {
        core::Observation observation = gpus(4);
        observation.started = clock.boot;
        observation.processes = running;
        ledger.observed(observation);
        jobs.observed(observation);
    }
    // Starts a job of alice's on GPU 1 as the prolog of Slurm 26.05 does.
    void startRun(core::SlurmJobId id, core::Sluid run) {
        core::NewSlurmJob wanted = job(id, alice, {1});
        wanted.sluid = run;
        ledger.startJob(wanted);
    }
    // Lets time pass and checks every ten seconds.
    void pass(std::chrono::seconds time) {
        for (; time > 0s; time -= 10s) {
            clock.pass(10s);
            jobs.check();
        }
    }

    const core::Sluid sluid{7};
    FakeUsers users;
    FakeJobCgroups cgroups;
    FakeSlurm slurm;
    SilentLog log;
    core::Jobs jobs{ledger, users, cgroups, slurm, clock, log};
};

TEST_F(SlurmJobs, BeginWithAProcessOnADeviceOfSlurmsWhereNoPrologTold) {
    see({inJob(12U, alice, {"GPU-1", "GPU-3"}), inJob(12U, alice, {"GPU-2"})});
    const core::EnvironmentRecord& environment = ledger.get("slurm-12");
    EXPECT_EQ(environment.user, "alice");
    EXPECT_TRUE(environment.job->isInferred);
    EXPECT_EQ(devicesOf("slurm-12"), (Indices{1, 2})) << "what is Slurm's alone";
    emitted.clear();
    see({inJob(12U, alice, {"GPU-1", "GPU-2"})});
    EXPECT_TRUE(emittedOf<core::Attached>().empty()) << "once";
}

TEST_F(SlurmJobs, AreSeenAmongProcessesOfNoJob) {
    see({computeProcess(400, bob, {"GPU-3"}), inJob(12U, alice, {"GPU-1"})});
    EXPECT_EQ(devicesOf("slurm-12"), Indices{1});
}

TEST_F(SlurmJobs, GrowWithWhatIsSeenUntilAPrologTells) {
    see({inJob(12U, alice, {"GPU-1"})});
    see({inJob(12U, alice, {"GPU-2"})});
    EXPECT_EQ(devicesOf("slurm-12"), (Indices{1, 2}));
    start(12, alice, {2});
    EXPECT_FALSE(ledger.get("slurm-12").job->isInferred);
    see({inJob(12U, alice, {"GPU-1"})});
    EXPECT_EQ(devicesOf("slurm-12"), Indices{2});
}

TEST_F(SlurmJobs, BelongToWhoeverThePathOrTheUidsOfTheProcessName) {
    see({inJob(12U, root, {"GPU-1"}, alice), inJob(13U, bob, {"GPU-1"}, alice),
         inJob(14U, root, {"GPU-1"}), inJob(15U, bob, {"GPU-0"})});
    EXPECT_EQ(ledger.get("slurm-12").uid, alice) << "root's process in alice's job";
    EXPECT_EQ(ledger.find("slurm-13"), nullptr) << "bob's process is not of alice's job";
    EXPECT_EQ(ledger.find("slurm-14"), nullptr) << "root's alone names nobody";
    EXPECT_EQ(ledger.find("slurm-15"), nullptr) << "on no device of Slurm's";
    core::ObservedProcess contained = inJob(17U, 100500, {"GPU-1"});
    contained.userNamespaceOwner = alice;
    see({contained});
    EXPECT_EQ(ledger.get("slurm-17").uid, alice) << "a process in a container of alice's";
    core::ObservedProcess mixed = inJob(16U, bob, {"GPU-1"});
    mixed.facts.uids.effective = alice;
    see({mixed});
    EXPECT_EQ(ledger.find("slurm-16"), nullptr);
}

TEST_F(SlurmJobs, ThatBeginLateTakeTheirDevicesAsWell) {
    ledger.reserve({});
    activate("20", bob);
    attachIndices("20", {1});
    ledger.reserve({false, {"GPU-1", "GPU-2"}});
    see({inJob(12U, alice, {"GPU-1"})});
    EXPECT_EQ(devicesOf("20"), Indices{});
    EXPECT_EQ(devicesOf("slurm-12"), Indices{1});
}

TEST_F(SlurmJobs, DoNotComeBackByASampleFromBeforeTheirEnd) {
    start(12, alice, {1});
    core::Observation before = gpus(4);
    before.started = clock.boot;
    before.processes = {inJob(12U, alice, {"GPU-1"})};
    clock.pass(1s);
    ledger.deactivate("slurm-12", root);
    jobs.observed(before);
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
    clock.pass(1s);
    see({inJob(12U, alice, {"GPU-1"})});
    EXPECT_NE(ledger.find("slurm-12"), nullptr) << "it was requeued";
}

TEST_F(SlurmJobs, BeginOnceTheUserDatabaseHasAnswered) {
    users.slow = true;
    see({inJob(12U, alice, {"GPU-1"})});
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
    start(12, alice, {2});
    users.later();
    EXPECT_EQ(devicesOf("slurm-12"), Indices{2}) << "the prolog came first";
}

TEST_F(SlurmJobs, EndOnceTheirControlGroupHasBeenGoneForFiveMinutes) {
    start(12, alice, {1});
    cgroups.found.jobs = {12U};
    pass(600s);
    EXPECT_NE(ledger.find("slurm-12"), nullptr);
    cgroups.found.jobs = {};
    pass(300s);
    EXPECT_NE(ledger.find("slurm-12"), nullptr);
    cgroups.found.jobs = {12U}; // the job was requeued
    pass(10s);
    cgroups.found.jobs = {};
    pass(300s);
    EXPECT_NE(ledger.find("slurm-12"), nullptr);
    pass(10s);
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
    EXPECT_EQ(emittedOf<core::EnvironmentRemoved>().at(0).cause.reason.text(), "job");
}

TEST_F(SlurmJobs, StayWhereControlGroupsSayNothing) {
    start(12, alice, {1});
    cgroups.found = {true, false, {}}; // Slurm does not use a control group for each job here
    pass(900s);
    EXPECT_NE(ledger.find("slurm-12"), nullptr);
    cgroups.found = {false, true, {}}; // the control groups cannot be read
    pass(900s);
    EXPECT_NE(ledger.find("slurm-12"), nullptr);
    cgroups.found = {true, true, {12U}};
    pass(10s);
    cgroups.found = {true, false, {}}; // it existed, and is gone with all the others
    pass(310s);
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
}

// -- control groups with SLUIDs for names, from Slurm 26.05

TEST_F(SlurmJobs, OfASluidBeginOnceSlurmHasSaidTheirNumber) {
    slurm.numbers = {{sluid, 12}};
    see({inJob(sluid, alice, {"GPU-1", "GPU-3"})});
    see({inJob(sluid, alice, {"GPU-1"})});
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
    EXPECT_EQ(slurm.asked, (Texts{"find s0000000000007"})) << "once";
    slurm.find();
    EXPECT_TRUE(ledger.get("slurm-12").job->isInferred);
    EXPECT_EQ(ledger.get("slurm-12").job->sluid, sluid);
    EXPECT_EQ(devicesOf("slurm-12"), Indices{1});
    see({inJob(sluid, alice, {"GPU-2"})});
    EXPECT_EQ(devicesOf("slurm-12"), (Indices{1, 2}));
    EXPECT_EQ(slurm.asked.size(), 1U);
}

TEST_F(SlurmJobs, OfASluidThatAPrologToldAreAskedForNowhere) {
    startRun(12, sluid);
    cgroups.found.jobs = {sluid, core::Sluid{9}}; // job 13 has no GPU
    see({inJob(sluid, alice, {"GPU-2"})});
    pass(600s);
    EXPECT_EQ(devicesOf("slurm-12"), Indices{1});
    EXPECT_EQ(slurm.asked, Texts{});
    cgroups.found.jobs = {core::Sluid{9}};
    pass(310s);
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
}

TEST_F(SlurmJobs, OfASluidWithoutAnAnswerAreAskedForOnceAMinute) {
    for (int second = 0; second < 120; second += 20) {
        see({inJob(sluid, alice, {"GPU-1"})});
        slurm.find();
        clock.pass(20s);
    }
    EXPECT_EQ(slurm.asked.size(), 2U);
    EXPECT_TRUE(ledger.environments().empty());
    slurm.numbers = {{sluid, 12}};
    see({inJob(sluid, alice, {"GPU-1"})});
    slurm.find();
    EXPECT_NE(ledger.find("slurm-12"), nullptr);
}

TEST_F(SlurmJobs, DoNotBeginByAnAnswerThatComesAfterTheirEnd) {
    slurm.numbers = {{sluid, 12}};
    see({inJob(sluid, alice, {"GPU-1"})});
    clock.pass(1s);
    startRun(12, sluid);
    ledger.deactivate("slurm-12", root);
    slurm.find();
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
}

TEST_F(SlurmJobs, DoNotBeginByAnAnswerThatComesAfterTheEndOfAJobWithoutASluid) {
    slurm.numbers = {{sluid, 12}};
    see({inJob(sluid, alice, {"GPU-1"})});
    clock.pass(1s);
    start(12, alice, {1});
    ledger.deactivate("slurm-12", root);
    slurm.find();
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
}

TEST_F(SlurmJobs, ThatAnEarlierPrologStartedLearnTheirSluid) {
    start(12, alice, {1});
    slurm.numbers = {{sluid, 12}};
    see({inJob(sluid, alice, {"GPU-1", "GPU-2"})});
    slurm.find();
    EXPECT_EQ(ledger.get("slurm-12").job->sluid, sluid);
    EXPECT_FALSE(ledger.get("slurm-12").job->isInferred);
    EXPECT_EQ(devicesOf("slurm-12"), Indices{1}) << "the prolog told";
}

TEST_F(SlurmJobs, ThatAnEarlierPrologStartedStayWhileASluidIsUnknown) {
    start(12, alice, {1});
    cgroups.found.jobs = {sluid, core::Sluid{9}};
    pass(900s);
    EXPECT_NE(ledger.find("slurm-12"), nullptr) << "Slurm does not answer";
    slurm.numbers = {{core::Sluid{9}, 13}};
    slurm.find();
    pass(900s);
    EXPECT_NE(ledger.find("slurm-12"), nullptr) << "the other one may be its";
    cgroups.found.jobs = {core::Sluid{9}};
    pass(300s);
    EXPECT_NE(ledger.find("slurm-12"), nullptr);
    pass(10s);
    EXPECT_EQ(ledger.find("slurm-12"), nullptr);
}

TEST_F(SlurmJobs, ThatWereRequeuedWithoutAPrologOrEpilogBeginAnew) {
    startRun(12, sluid);
    slurm.numbers = {{core::Sluid{9}, 12}};
    clock.pass(1s);
    see({inJob(core::Sluid{9}, alice, {"GPU-2"})});
    slurm.find();
    EXPECT_EQ(devicesOf("slurm-12"), Indices{2});
    EXPECT_EQ(ledger.get("slurm-12").job->sluid, core::Sluid{9});
    EXPECT_TRUE(ledger.get("slurm-12").job->isInferred);
}

TEST_F(SlurmJobs, AreLookedForOnlyWhileThereAreAnyAndOnceAtATime) {
    jobs.check();
    EXPECT_EQ(cgroups.lists, 0);
    start(12, alice, {1});
    cgroups.slow = true;
    jobs.check();
    jobs.check();
    EXPECT_EQ(cgroups.lists, 1);
    cgroups.waiting(cgroups.found);
    jobs.check();
    EXPECT_EQ(cgroups.lists, 2);
}

} // namespace
} // namespace genv::tests
