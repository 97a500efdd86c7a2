// SPDX-License-Identifier: LGPL-2.1-or-later
// Cycles on request, and reports: the actions, the answers, and the order of the cycles.
#include "tests/core/enforcer_fixture.hpp"

namespace genv::tests {
namespace {

using Kind = core::EnforcementEntry::Kind;

// Alice holds devices 0 and 1, one more than permitted. Process 500 runs on device 1, and 501 in no
// environment.
class EnforcerRun : public EnforcerTest {
  protected:
    EnforcerRun() {
        table.general.maxDevices = 1;
        rules.switches.nonEnvProcesses = true;
        activate("20", alice);
        attachIndices("20", {0, 1});
        runReal(500, alice, {{1, gigabytes(1)}}, "20");
        runReal(501, bob, {{0, gigabytes(1)}, {3, gigabytes(1)}});
    }
};

TEST_F(EnforcerRun, CarriesOutAndAnswersFindingsThenTerminationsThenDetachments) {
    enforce();
    look();
    EXPECT_TRUE(answers.empty()) << "the terminations wait for a look of their own";
    look();
    EXPECT_EQ(messages(),
              (Texts{"Process 501 is not running in a GPU environment",
                     "User alice is using 2 devices which is 1 more than the maximum allowed",
                     "Terminating process 501 from environment N/A that is running on GPU(s) 0,3",
                     "Terminating process 500 from environment 20 that is running on GPU(s) 1",
                     "Detaching environment 20 of user user1001 from device 1"}));
    EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Finding, Kind::Finding, Kind::Terminate,
                                          Kind::Terminate, Kind::Detach}));
    const auto& actions = *answers.at(0);
    EXPECT_EQ(actions[0].rule, "non-env-processes");
    EXPECT_EQ(actions[1].user, "alice");
    EXPECT_EQ(actions[2].pid, 501U);
    EXPECT_EQ(actions[2].environment, std::nullopt);
    EXPECT_EQ(actions[2].user, "bob");
    EXPECT_EQ(actions[2].devices, (std::vector<core::DeviceIndex>{0, 3}));
    EXPECT_EQ(actions[3].environment, "20");
    EXPECT_EQ(actions[4].rule, "max-devices-per-user");
    EXPECT_EQ(actions[4].devices, std::vector<core::DeviceIndex>{1});
    EXPECT_EQ(signalled(500), 1U);
    EXPECT_EQ(signalled(501), 1U);
    EXPECT_EQ(devicesOf("20"), std::vector<core::DeviceIndex>{0});
}

TEST_F(EnforcerRun, TellsTheRuleAsTheReasonAndWhoAskedForIt) {
    enforce({false, true, bob});
    look();
    look();
    const auto terminated = emittedOf<core::ProcessTerminated>();
    ASSERT_EQ(terminated.size(), 2U);
    EXPECT_EQ(terminated[0].cause.reason.text(), "rule:non-env-processes");
    EXPECT_EQ(terminated[0].cause.actor, bob);
    const auto detached = emittedOf<core::Detached>();
    ASSERT_EQ(detached.size(), 1U);
    EXPECT_EQ(detached[0].cause.reason.text(), "rule:max-devices-per-user");
    EXPECT_EQ(detached[0].cause.actor, bob);
    EXPECT_FALSE(detached[0].cause.endsProcesses) << "the finding names them itself";
    EXPECT_EQ(log.lines.size(), 2U);
}

TEST_F(EnforcerRun, SamplesAnewForWhoeverMayEnforceAndNotForEverybodysDryRuns) {
    enforce({true, true, bob});
    EXPECT_EQ(observer.lastAge, core::freshSample);
    enforce({true, true, root});
    EXPECT_EQ(observer.lastAge.count(), 0);
    enforce({false, true, bob});
    EXPECT_EQ(observer.lastAge.count(), 0);
    look();
    look();
}

TEST_F(EnforcerRun, ChangesNothingWhenDryAndSaysWhatItWouldDo) {
    enforce({true, true, root});
    look();
    EXPECT_EQ(messages().size(), 5U);
    EXPECT_EQ(messages().at(3),
              "Would terminate process 500 from environment 20 that is running on GPU(s) 1");
    EXPECT_EQ(messages().at(4), "Would detach environment 20 of user user1001 from device 1");
    EXPECT_TRUE(observer.waiting.empty());
    EXPECT_EQ(signalled(500) + signalled(501), 0U);
    EXPECT_EQ(devicesOf("20").size(), 2U);
    EXPECT_TRUE(emittedOf<core::Detached>().empty());
    EXPECT_TRUE(log.lines.empty());
}

TEST_F(EnforcerRun, EndsEnvironmentsAndSaysSo) {
    rules.switches.nonEnvProcesses = false;
    table.general.maxDevices.reset();
    table.general.maxEnvironments = 0;
    enforce();
    look();
    look();
    EXPECT_EQ(messages(),
              (Texts{("User alice has 1 active environment, 1 more than allowed"),
                     "Terminating process 500 from environment 20 that is running on GPU(s) 1",
                     "Detaching environment 20 of user user1001 from device 0",
                     "Detaching environment 20 of user user1001 from device 1",
                     "Ending environment 20 of user user1001"}));
    EXPECT_EQ(kinds().back(), Kind::End);
    EXPECT_EQ(ledger.find("20"), nullptr);
}

TEST_F(EnforcerRun, DetachesAndSignalsNothingWhenToldNotToTerminate) {
    enforce({false, false, root});
    look();
    EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Finding, Kind::Finding, Kind::Detach}));
    EXPECT_TRUE(observer.waiting.empty());
    EXPECT_EQ(signalled(500) + signalled(501), 0U);
    EXPECT_EQ(devicesOf("20").size(), 1U);
}

TEST_F(EnforcerRun, SaysWhatCouldNotBeDone) {
    enforce();
    look();
    processes.exit(501);
    std::erase_if(seen.processes, [](const auto& p) { return p.facts.identity.pid == 501; });
    look();
    EXPECT_EQ(messages().at(2), "[DEBUG] Process 501 already terminated");
    EXPECT_EQ(kinds().at(2), Kind::Failed);
    EXPECT_EQ(answers.at(0)->at(2).pid, 501U);
    EXPECT_EQ(kinds().at(3), Kind::Terminate);
}

TEST_F(EnforcerRun, AsksTheDriverOnceWhereNothingIsFound) {
    table = {};
    rules.switches.nonEnvProcesses = false;
    enforce();
    look();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_TRUE(messages().empty());
    EXPECT_EQ(looks, 1);
    EXPECT_TRUE(observer.waiting.empty());
}

TEST_F(EnforcerRun, TakesTurnsUntilTheLastTerminationIsAnswered) {
    enforce();
    EXPECT_EQ(codeOf([this] { enforce(); }), core::ErrorCode::Busy);
    EXPECT_EQ(codeOf([this] { enforcer.execute({}, {}, keep()); }), core::ErrorCode::Busy);
    look();
    EXPECT_EQ(codeOf([this] { enforce(); }), core::ErrorCode::Busy) << "terminations are missing";
    EXPECT_NO_THROW(enforce({true, true, root})) << "a dry run disturbs nobody";
    look();
    EXPECT_EQ(answers.size(), 2U);
    EXPECT_NO_THROW(enforce());
}

TEST_F(EnforcerRun, WaitsForTheUserDatabase) {
    userBase.slow = true;
    enforce();
    look();
    EXPECT_TRUE(observer.waiting.empty());
    EXPECT_EQ(codeOf([this] { enforce(); }), core::ErrorCode::Busy);
    userBase.later();
    look();
    EXPECT_EQ(messages().size(), 5U);
    EXPECT_NO_THROW(enforce());
}

TEST_F(EnforcerRun, AnswersWhyTheDriverDidNotAndFreesTheTurn) {
    enforce();
    observer.fail("it hangs");
    ASSERT_EQ(failures, Texts{"it hangs"});
    EXPECT_FALSE(answers.at(0).has_value());
    EXPECT_EQ(devicesOf("20").size(), 2U);
    enforce();
    look();
    observer.fail("it hangs again");
    ASSERT_EQ(answers.size(), 2U) << "the second look failed, and so did the terminations";
    EXPECT_EQ(answers.at(1)->at(2).message,
              "[ERROR] Process 501 is left alone, since the GPU driver does not answer");
    EXPECT_NO_THROW(enforce());
}

// -- reports

class EnforcerExecute : public EnforcerRun {
  protected:
    void execute(core::EnforcementReport report, core::EnforcementOptions options = {}) {
        enforcer.execute(std::move(report), options, keep());
    }
};

TEST_F(EnforcerExecute, CarriesOutWhatIsStillSoAndSaysWhatIsNot) {
    execute({{{500, "20", {1}}, {501, "20", {0}}, {777, std::nullopt, {0}}},
             {{0, {"20"}}, {3, {"20"}}}});
    look();
    look();
    EXPECT_EQ(
        messages(),
        (Texts{"Terminating process 500 from environment 20 that is running on GPU(s) 1",
               "Detaching environment 20 of user user1001 from device 0",
               "[DEBUG] Process 501 already terminated", "[DEBUG] Process 777 already terminated",
               "[DEBUG] Environment 20 already detached from device 3"}));
    EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Terminate, Kind::Detach, Kind::Failed, Kind::Failed,
                                          Kind::Failed}));
    EXPECT_EQ(answers.at(0)->at(0).rule, "");
    EXPECT_EQ(signalled(500), 1U);
    EXPECT_EQ(signalled(501), 0U);
    EXPECT_EQ(devicesOf("20"), std::vector<core::DeviceIndex>{1});
    const auto detached = emittedOf<core::Detached>();
    ASSERT_EQ(detached.size(), 1U);
    EXPECT_EQ(detached[0].cause.reason.text(), "admin");
    EXPECT_TRUE(detached[0].cause.endsProcesses) << "the report need not have listed them";
}

TEST_F(EnforcerExecute, NamesTheUserOfEachProcessThatItEnds) {
    execute({{{500, "20", {1}}, {501, std::nullopt, {0}}}, {}}, {true, true, root});
    look();
    ASSERT_EQ(kinds(), (std::vector<Kind>{Kind::Terminate, Kind::Terminate}));
    EXPECT_EQ(answers.at(0)->at(0).user, "alice");
    EXPECT_EQ(answers.at(0)->at(1).user, "bob");
}

TEST_F(EnforcerExecute, SignalsNothingWhereTheReportOrTheCallerForbidsIt) {
    for (const bool byReport : {true, false}) {
        core::EnforcementReport report{{{500, "20", {1}}}, {{byReport ? 0U : 1U, {"20"}}}};
        report.terminateProcesses = !byReport;
        execute(report, {false, byReport, root});
        look();
        EXPECT_TRUE(observer.waiting.empty());
        EXPECT_EQ(signalled(500), 0U);
    }
    EXPECT_TRUE(devicesOf("20").empty());
    for (const auto& detached : emittedOf<core::Detached>())
        EXPECT_FALSE(detached.cause.endsProcesses);
}

TEST_F(EnforcerExecute, ChangesNothingWhenDry) {
    execute({{{500, "20", {1}}}, {{0, {"20"}}}}, {true, true, root});
    look();
    EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::Terminate, Kind::Detach}));
    EXPECT_EQ(signalled(500), 0U);
    EXPECT_EQ(devicesOf("20").size(), 2U);
}

TEST_F(EnforcerExecute, AnswersWhyTheDriverDidNot) {
    execute({{{500, "20", {1}}}, {}});
    observer.fail("it hangs");
    EXPECT_EQ(failures, Texts{"it hangs"});
    EXPECT_NO_THROW(enforce());
}

TEST_F(EnforcerExecute, SkipsWhatAnEarlierPartOfItEnded) {
    table.general.maxEnvironments = 0;
    table.general.maxDevices = 0;
    rules.switches.nonEnvProcesses = false;
    enforce();
    look();
    look();
    EXPECT_EQ(ledger.find("20"), nullptr);
    std::size_t ended = 0;
    for (const Kind kind : kinds())
        ended += kind == Kind::End ? 1 : 0;
    EXPECT_EQ(ended, 1U) << "two rules ended it, and it ended once";
}

TEST(EnforcementActions, HaveTheNamesThatTheBusTells) {
    EXPECT_EQ(core::nameOf(Kind::Finding), "finding");
    EXPECT_EQ(core::nameOf(Kind::Terminate), "terminate");
    EXPECT_EQ(core::nameOf(Kind::Detach), "detach");
    EXPECT_EQ(core::nameOf(Kind::End), "end");
    EXPECT_EQ(core::nameOf(Kind::Failed), "failed");
}

} // namespace
} // namespace genv::tests
