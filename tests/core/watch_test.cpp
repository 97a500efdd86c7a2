// SPDX-License-Identifier: LGPL-2.1-or-later
// The service's own cycles: they warn once, wait for the grace period, and forget findings that
// ended.
#include "core/state/state_schema.hpp"
#include "tests/core/enforcer_fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

// Alice holds two devices; her limit is one.
class Watch : public EnforcerTest {
  protected:
    Watch() {
        settings.grace = 30s;
        settings.keepGrants = false;
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

template <typename Value, typename Given>
core::Limits only(std::optional<Value> core::Limits::*limit, Given value) {
    core::Limits limits;
    limits.*limit = Value(value);
    return limits;
}

class KeptGrants : public Watch {
  protected:
    KeptGrants() { settings.keepGrants = true; }
    std::vector<bool> marksOf(const std::string& id) const {
        std::vector<bool> marks{ledger.get(id).overLimit};
        for (const core::DeviceAttachment& attachment : ledger.get(id).attachments)
            marks.push_back(attachment.overLimit);
        return marks;
    }
    core::EnvironmentRecord writtenOf(const std::string& id) const {
        return core::decodeState(store.documents.at(id));
    }
};

TEST_F(KeptGrants, OutliveALimitThatIsLoweredBelowThem) {
    settings.grace = {};
    for (int i = 0; i < 3; ++i)
        cycle(1h);
    EXPECT_EQ(devicesOf("20").size(), 2U);
    EXPECT_TRUE(warnings().empty());
    EXPECT_EQ(signalled(500), 0U);
    EXPECT_EQ(log.lines, Texts{"environment 20 of user1001 is over a limit; it keeps what it holds "
                               "until its owner gives it back (KeepGrants=yes)"});
}

TEST_F(KeptGrants, AreThoseOfEveryLimitThatIsCheckedAtTheRequest) {
    settings.grace = 0s;
    core::Limits& limits = settings.limits.general;
    limits = {};
    activate("30", alice);
    for (const core::Limits& lowered :
         {only(&core::Limits::maxDevices, 0), only(&core::Limits::maxDevicesPerEnvironment, 0),
          only(&core::Limits::maxEnvironments, 0), only(&core::Limits::maxGpuMemory, gigabytes(2)),
          only(&core::Limits::maxGpuMemoryPerDevice, gigabytes(2)),
          only(&core::Limits::maxLifetime, 1min)}) {
        limits = lowered;
        cycle(1h);
        look();
        EXPECT_EQ(devicesOf("20").size(), 2U);
        EXPECT_NE(ledger.find("30"), nullptr);
        EXPECT_EQ(signalled(500), 0U);
    }
}

TEST_F(KeptGrants, DoNotSpareWhatIsMeasured) {
    seen.started = clock.bootNow();
    idleness.observed(ledger, seen);
    std::size_t warned = 0;
    for (const core::Limits& lowered :
         {only(&core::Limits::maxProcesses, 0), only(&core::Limits::maxGpuMemory, core::Bytes{1}),
          only(&core::Limits::maxGpuMemoryPerDevice, core::Bytes{1}),
          only(&core::Limits::idleTimeout, 1min)}) {
        settings.limits.general = lowered;
        cycle(1h);
        EXPECT_GT(warnings().size(), warned);
        warned = warnings().size();
        EXPECT_FALSE(ledger.get("20").overLimit);
    }
    cycle(1h);
    EXPECT_TRUE(devicesOf("20").empty()) << "idle";
}

TEST_F(KeptGrants, AreMarkedInTheDocument) {
    settings.limits.general.maxEnvironments = 0;
    cycle();
    EXPECT_EQ(marksOf("20"), (std::vector{true, false, true})) << "the newest device";
    EXPECT_EQ(writtenOf("20"), ledger.get("20"));
    settings.limits.general = only(&core::Limits::maxDevices, 0);
    cycle();
    EXPECT_EQ(marksOf("20"), (std::vector{false, true, true}));
    settings.limits = {};
    cycle();
    EXPECT_EQ(marksOf("20"), (std::vector{false, false, false})) << "nothing is over a limit";
    EXPECT_EQ(writtenOf("20"), ledger.get("20"));
}

TEST_F(KeptGrants, StayEvenIfTheMarkCannotBeWritten) {
    settings.grace = 0s;
    store.writesUntilFailure = 0;
    cycle();
    cycle();
    EXPECT_EQ(devicesOf("20").size(), 2U);
    EXPECT_EQ(log.lines.size(), 1U);
    store.writesUntilFailure = -1;
    EXPECT_TRUE(ledger.retryWrites());
    EXPECT_EQ(writtenOf("20"), ledger.get("20"));
}

TEST_F(KeptGrants, AreNotEndedByTheRestOfTheLimit) {
    settings.grace = 0s;
    cycle();
    ledger.detach("20", {0}, alice);
    cycle();
    EXPECT_EQ(devicesOf("20").size(), 1U);
    EXPECT_EQ(marksOf("20"), (std::vector{false, false})) << "within the limit again";
}

TEST_F(KeptGrants, EndWithoutTheSettingAndByAnAdministratorsEnforcement) {
    cycle();
    rules.limitsOf = [](const core::UserInfo&) { return only(&core::Limits::maxDevices, 1); };
    enforce();
    look();
    look(); // before the signal
    EXPECT_EQ(devicesOf("20").size(), 1U);
    settings.keepGrants = false;
    settings.grace = 0s;
    settings.limits.general.maxDevices = 0;
    cycle();
    EXPECT_TRUE(devicesOf("20").empty());
}

// With IdleAction=park.
class IdleParks : public Watch {
  protected:
    void cycleParking(std::chrono::microseconds later) {
        clock.pass(later);
        parking.watch(std::make_shared<const core::Observation>(seen), settings);
    }

    std::vector<std::string> asked;
    core::Enforcer parking{{ledger,
                            observer,
                            userBase,
                            terminator,
                            idleness,
                            clock,
                            events,
                            log,
                            nullptr,
                            {},
                            {},
                            [this](const core::EnvironmentId& id, const core::DeviceUuid& device) {
                                asked.push_back(id + " " + device);
                                return true;
                            },
                            [] { return true; }}};
};

TEST_F(IdleParks, AskForTheEnvironmentToBeParkedAndDetachAndEndNothing) {
    settings.grace = 0s;
    settings.limits.general = only(&core::Limits::idleTimeout, 1min);
    idleness.observed(ledger, seen);
    cycleParking(1h);
    look();
    EXPECT_EQ(asked, (std::vector<std::string>{"20 GPU-0", "20 GPU-1"}));
    EXPECT_EQ(devicesOf("20").size(), 2U);
    EXPECT_EQ(signalled(500), 0U);
    asked.clear();
    settings.dryRun = true;
    cycleParking(1h);
    EXPECT_TRUE(asked.empty());
}

TEST_F(IdleParks, LeaveTheOtherRulesAsTheyAre) {
    settings.grace = 0s;
    cycleParking(10s);
    EXPECT_EQ(devicesOf("20").size(), 1U) << "one more than its user may have";
    EXPECT_TRUE(asked.empty());
}

} // namespace
} // namespace genv::tests
