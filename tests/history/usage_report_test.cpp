// SPDX-License-Identifier: LGPL-2.1-or-later
// The sums of the report, one test for each rule. tests/history/history-test has an hour of
// simulated life.
#include "client/genvctl/reports/usage_report.hpp"

#include <gtest/gtest.h>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using ctl::HeldNow;
using ctl::Usage;
using ctl::UsageReport;

constexpr std::uint32_t alice = 1001;
constexpr std::uint32_t bob = 1002;

Time at(int minute) {
    return Time{std::chrono::minutes{1'000'000 + minute}};
}

// Events of environments of alice's (a...) and bob's (b...) with devices.
class Reports : public testing::Test {
  protected:
    HistoryEvent& event(const char* kind, int minute, const std::string& environment,
                        const std::string& uuid) {
        HistoryEvent event;
        event.kind = kind;
        event.time = at(minute);
        event.environment = environment;
        event.uid = environment[0] == 'a' ? alice : bob;
        event.user = environment[0] == 'a' ? "alice" : "bob";
        if (!uuid.empty())
            event.uuids = {uuid};
        input.events.push_back(event);
        return input.events.back();
    }
    void attached(int minute, const std::string& environment, const std::string& uuid) {
        event("attached", minute, environment, uuid);
    }
    void detached(int minute, const std::string& environment, const std::string& uuid, int since) {
        event("detached", minute, environment, uuid).since = at(since);
    }
    void inUse(int minute, const std::string& environment, const std::string& uuid) {
        event("in-use", minute, environment, uuid).since = at(minute);
    }
    // Reported a minute after it began.
    void idle(int minute, const std::string& environment, const std::string& uuid) {
        event("idle", minute + 1, environment, uuid).since = at(minute);
    }

    UsageReport report(int since, int until) {
        input.period = {at(since), at(until)};
        input.now = at(1000);
        return ctl::usageReport(input);
    }
    Usage ofUser(int since, int until, std::uint32_t uid = alice) {
        for (const auto& row : report(since, until).users) {
            if (row.uid == uid)
                return row.usage;
        }
        return {};
    }
    Usage ofDevice(int since, int until, const std::string& uuid) {
        for (const auto& row : report(since, until).devices) {
            if (row.uuid == uuid)
                return row.usage;
        }
        return {};
    }
    static void expect(const Usage& usage, std::chrono::minutes held, std::chrono::minutes used,
                       std::chrono::minutes unknown, std::size_t attachments = 1) {
        EXPECT_EQ(usage.held, held);
        EXPECT_EQ(usage.used, used);
        EXPECT_EQ(usage.unknown, unknown);
        EXPECT_EQ(usage.idle(), held - used - unknown);
        EXPECT_EQ(usage.attachments, attachments);
    }

    ctl::UsageInput input;
};

TEST_F(Reports, AnAttachmentIsIdleUntilItIsUsedAndAgainFromWhenUseEnded) {
    attached(10, "a", "G0");
    inUse(15, "a", "G0");
    idle(25, "a", "G0");
    inUse(40, "a", "G0");
    detached(50, "a", "G0", 10);
    expect(ofUser(0, 100), 40min, 20min, 0min);
    expect(ofDevice(0, 100, "G0"), 40min, 20min, 0min);
}

TEST_F(Reports, CountParkedTimeApartFromHeldTime) {
    attached(10, "a", "G0");
    detached(20, "a", "G0", 10);
    event("parked", 20, "a", "G0");
    attached(50, "a", "G0");
    event("resumed", 51, "a", "G0");
    detached(60, "a", "G0", 50);
    expect(ofUser(0, 100), 20min, 0min, 0min, 2);
    EXPECT_EQ(ofUser(0, 100).parked, 30min);
    EXPECT_EQ(ofUser(25, 30).parked, 5min);
    EXPECT_EQ(ofUser(25, 30).held, 0min);
    EXPECT_EQ(ofDevice(0, 100, "G0").parked, 30min);
    EXPECT_EQ(ofUser(0, 100, bob).parked, 0min);
}

TEST_F(Reports, CountWhatWasTakenForOthersWithinTheParkedTime) {
    event("parked", 10, "a", "G0").reason = "user";
    attached(20, "a", "G0");
    event("parked", 30, "a", "G0").reason = "taken";
    attached(50, "a", "G0");
    detached(60, "a", "G0", 50);
    EXPECT_EQ(ofUser(0, 100).parked, 30min);
    EXPECT_EQ(ofUser(0, 100).taken, 20min);
    EXPECT_EQ(ofUser(45, 100).taken, 5min);
    EXPECT_EQ(ofDevice(0, 100, "G0").taken, 20min);
}

TEST_F(Reports, EndParkedTimeWithTheEnvironmentOrNow) {
    event("parked", 10, "a", "G0");
    event("parked", 10, "b", "G1");
    event("parked", 10, "ab", "G2");
    event("environment-ended", 30, "a", "");
    input.parked = {"b"};
    EXPECT_EQ(ofUser(0, 100).parked, 20min) << "a; ab was lost in a crash";
    EXPECT_EQ(ofUser(0, 100, bob).parked, 90min);
}

TEST_F(Reports, TakeTheServicesTimesBeforeThoseOfItsRecords) {
    event("attached", 11, "a", "G0").since = at(10);
    detached(52, "a", "G0", 10);
    input.events.back().held = 40min;
    expect(ofUser(0, 100), 40min, 0min, 0min);
    input.events.back().since = at(60); // which is impossible
    expect(ofUser(0, 100), 42min, 0min, 0min);
}

TEST_F(Reports, CutThePeriodOutOfWhatBeganBeforeAndEndedLater) {
    attached(10, "a", "G0");
    inUse(15, "a", "G0");
    idle(25, "a", "G0");
    detached(50, "a", "G0", 10);
    expect(ofUser(20, 30), 10min, 5min, 0min);
    expect(ofUser(12, 18), 6min, 3min, 0min);
    expect(ofUser(50, 60), 0min, 0min, 0min, 0);
    expect(ofUser(0, 10), 0min, 0min, 0min, 0);
}

TEST_F(Reports, DoNotGuessTheUseBeforeAnythingWasToldOfIt) {
    detached(50, "a", "G0", 10);
    expect(ofUser(0, 100), 40min, 0min, 40min);
    inUse(60, "a", "G1"); // the event that ends this attachment also has its start
    idle(70, "a", "G1");
    detached(80, "a", "G1", 55);
    expect(ofUser(0, 100), 65min, 10min, 45min, 2);
}

TEST_F(Reports, GoOnWithWhatIsHeldNow) {
    attached(10, "a", "G0");
    inUse(20, "a", "G0");
    input.held = {{"a", alice, "alice", "G0", at(10)}, {"b", bob, "bob", "G1", at(30)}};
    expect(ofUser(0, 100), 90min, 80min, 0min);
    expect(ofUser(0, 100, bob), 70min, 0min, 70min);
    input.held = {{"a", alice, "alice", "G0", at(10)}};
    detached(60, "a", "G0", 10); // after the query for the present holdings
    expect(ofUser(0, 100), 50min, 40min, 0min);
}

TEST_F(Reports, EndWhatNobodyHoldsWithTheLastThatWasToldOfIt) {
    attached(10, "a", "G0");
    inUse(20, "a", "G0");
    expect(ofUser(0, 100), 10min, 0min, 0min);
    idle(30, "a", "G0");
    expect(ofUser(0, 100), 21min, 10min, 0min);
    event("environment-ended", 40, "a", "");
    expect(ofUser(0, 100), 30min, 10min, 0min);
}

TEST_F(Reports, EndWhatIsAttachedAgainWithoutAnEnd) {
    attached(10, "a", "G0");
    attached(30, "a", "G0");
    detached(50, "a", "G0", 30);
    expect(ofUser(0, 100), 40min, 0min, 0min, 2);
}

TEST_F(Reports, CountAnAttachmentOnceThatIsToldTwice) {
    attached(10, "a", "G0");
    event("environment-ended", 50, "a", "");
    detached(50, "a", "G0", 10);
    expect(ofUser(0, 100), 40min, 0min, 0min);
}

TEST_F(Reports, TellAnAttachmentOfAnotherTimeFromTheOneThatWasSeenToBegin) {
    attached(10, "a", "G0");
    inUse(12, "a", "G0"); // and the machine crashes; "a" is activated again, without a record of it
    detached(90, "a", "G0", 80);
    expect(ofUser(0, 100), 12min, 0min, 10min, 2);
}

TEST_F(Reports, CountASharedDeviceOnceButEachAttachmentForItsUser) {
    attached(0, "a1", "G0");
    inUse(10, "a1", "G0");
    idle(20, "a1", "G0");
    attached(5, "b1", "G0");
    inUse(15, "b1", "G0");
    attached(20, "a2", "G0");
    detached(30, "a1", "G0", 0);
    detached(40, "b1", "G0", 5);
    detached(60, "a2", "G0", 20);
    expect(ofUser(0, 100), 70min, 10min, 0min, 2);
    expect(ofUser(0, 100, bob), 35min, 25min, 0min);
    expect(ofDevice(0, 100, "G0"), 60min, 30min, 0min, 3);
}

TEST_F(Reports, CountWaitsThatEndedAndRefusalsOfWhoAsked) {
    event("wait-granted", 10, "a", "G0").waited = 4min;
    event("wait-ended", 20, "a", "").waited = 8min;
    event("wait-ended", 200, "a", "").waited = 1h;
    auto& refused = event("refused", 30, "a", "G0");
    refused.caller = bob;
    refused.callerUser = "bob";
    const Usage usage = ofUser(0, 100);
    EXPECT_EQ(usage.waits.count, 2);
    EXPECT_EQ(usage.waits.mean(), 6min);
    EXPECT_EQ(usage.waits.max, 8min);
    auto& unasked = event("refused", 31, "a", "G0");
    unasked.caller = bob;
    unasked.error = "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired";
    EXPECT_EQ(usage.refusals, 0);
    EXPECT_EQ(ofUser(0, 100, bob).refusals, 1);
    EXPECT_EQ(ofDevice(0, 100, "G0").refusals, 1);
    EXPECT_EQ(ofDevice(0, 100, "G0").waits.count, 1);
    EXPECT_EQ(Usage{}.waits.mean(), 0min);
}

TEST_F(Reports, HaveARowForEachDeviceUnlessTheyAreOneUsers) {
    input.devices = {{1, "G1", "A100", 0}, {0, "G0", "A100", 0}};
    attached(10, "a", "G1");
    detached(20, "a", "G1", 10);
    auto& gone = event("attached", 30, "b", "G9");
    gone.devices = {5};
    gone.model = "K80";
    detached(40, "b", "G9", 30);
    const auto all = report(0, 100);
    ASSERT_EQ(all.devices.size(), 3);
    EXPECT_EQ(all.devices[0].index, 0U);
    EXPECT_EQ(all.devices[1].uuid, "G1");
    EXPECT_EQ(all.devices[2].index, 5U) << "one that is gone comes last";
    EXPECT_EQ(all.devices[2].model, "K80");
    input.uid = alice;
    const auto own = report(0, 100);
    ASSERT_EQ(own.devices.size(), 1);
    EXPECT_EQ(own.devices[0].uuid, "G1");
    ASSERT_EQ(own.users.size(), 1);
    EXPECT_EQ(own.users[0].user, "alice");
}

TEST_F(Reports, LookBackToTheEarliestBeginning) {
    EXPECT_FALSE(ctl::earliestBeginning(input));
    detached(50, "a", "G0", 40);
    detached(60, "a", "G1", 30);
    EXPECT_EQ(ctl::earliestBeginning(input), at(30));
    input.held = {{"b", bob, "bob", "G0", at(10)}};
    EXPECT_EQ(ctl::earliestBeginning(input), at(10));
}

TEST_F(Reports, AddUpWhatEachSlurmJobHadAlsoOverARequeue) {
    attached(0, "slurm-12", "GPU-1");
    inUse(0, "slurm-12", "GPU-1");
    detached(10, "slurm-12", "GPU-1", 0);
    attached(20, "slurm-12", "GPU-2");
    detached(25, "slurm-12", "GPU-2", 20);
    attached(0, "a1", "GPU-3");
    detached(60, "a1", "GPU-3", 0);
    attached(0, "slurm-x", "GPU-4");
    detached(60, "slurm-x", "GPU-4", 0);
    const UsageReport all = report(0, 100);
    ASSERT_EQ(all.jobs.size(), 1U) << "what is no job's is in no row";
    EXPECT_EQ(all.jobs[0].job, "12");
    EXPECT_EQ(all.jobs[0].user, "bob");
    expect(all.jobs[0].usage, 15min, 10min, 0min, 2);
}

} // namespace
} // namespace genv::tests
