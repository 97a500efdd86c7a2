// SPDX-License-Identifier: LGPL-2.1-or-later
// A lease ends on time, neither early nor much later, and its holder gets a warning.
#include "core/environments/leases.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Indices = std::vector<core::DeviceIndex>;

// Counts the timers that are pending.
class CountingScheduler : public FakeScheduler {
  public:
    [[nodiscard]] std::unique_ptr<core::Scheduled> after(std::chrono::milliseconds delay,
                                                         std::function<void()> function) override {
        return std::make_unique<Counted>(FakeScheduler::after(delay, std::move(function)), pending);
    }
    int pending = 0;

  private:
    struct Counted : core::Scheduled {
        Counted(std::unique_ptr<core::Scheduled> real, int& all)
            : timer(std::move(real)), count(all) {
            ++count;
        }
        Counted(const Counted&) = delete;
        Counted& operator=(const Counted&) = delete;
        ~Counted() override { --count; }

        std::unique_ptr<core::Scheduled> timer;
        int& count;
    };
};

class Leasing : public LedgerTest {
  protected:
    Leasing() {
        events.subscribe([this](const core::Event& event) { leases.onEvent(event); });
        haveGpus(4);
    }
    void activateFor(const std::string& id, seconds lifetime) {
        core::NewEnvironment wanted =
            newEnvironment(id, alice, static_cast<core::Pid>(std::stoul(id)));
        wanted.lifetime = lifetime;
        ledger.activate(std::move(wanted), std::nullopt, alice);
        scheduler.turn();
    }
    void attachFor(const std::string& id, core::DeviceIndex index, seconds lifetime) {
        ledger.attach(id, planned(id, {core::IndicesWanted{{index}}, {}, {}, false}), alice,
                      {false, lifetime});
        scheduler.turn();
    }
    void pass(std::chrono::milliseconds time) {
        clock.pass(time);
        scheduler.pass(time);
        scheduler.turn();
    }
    void extend(const std::string& id, std::optional<seconds> lifetime) {
        core::EnvironmentConfigurationChange change;
        change.lifetime = lifetime;
        ledger.configure(id, change, alice);
        scheduler.turn();
    }
    [[nodiscard]] std::vector<minutes> warned() const {
        std::vector<minutes> remaining;
        for (const auto& warning : emittedOf<core::LeaseEnding>())
            remaining.push_back(std::chrono::duration_cast<minutes>(warning.remaining));
        return remaining;
    }

    CountingScheduler scheduler;
    core::Leases leases{ledger, clock, scheduler, events};
};

TEST_F(Leasing, EndsTheEnvironmentWhenItsLeaseIsOver) {
    activateFor("10", hours{2});
    attachCount("10", 2);
    pass(hours{2} - seconds{1});
    EXPECT_NE(ledger.find("10"), nullptr);
    pass(seconds{1});
    EXPECT_EQ(ledger.find("10"), nullptr);
    const auto detached = emittedOf<core::Detached>();
    ASSERT_EQ(detached.size(), 2U);
    EXPECT_EQ(detached[0].cause.reason.text(), "expired");
    EXPECT_TRUE(detached[0].cause.endsProcesses) << "or the next one could not use the device";
    EXPECT_EQ(emittedOf<core::EnvironmentRemoved>().at(0).cause.reason.text(), "expired");
}

TEST_F(Leasing, TakesOnlyTheDeviceWhoseLeaseIsOver) {
    activate("10", alice);
    attachFor("10", 0, hours{1});
    attachFor("10", 1, hours{2});
    attachIndices("10", {2});
    pass(hours{1});
    EXPECT_EQ(devicesOf("10"), (Indices{1, 2}));
    pass(hours{1});
    EXPECT_EQ(devicesOf("10"), Indices{2});
    pass(hours{1000});
    EXPECT_EQ(devicesOf("10"), Indices{2});
}

TEST_F(Leasing, WarnsTwiceBeforeALongOne) {
    activateFor("10", hours{2});
    pass(hours{1});
    EXPECT_TRUE(warned().empty());
    pass(minutes{50});
    EXPECT_EQ(warned(), std::vector<minutes>{minutes{10}});
    pass(minutes{9});
    EXPECT_EQ(warned(), (std::vector<minutes>{minutes{10}, minutes{1}}));
    EXPECT_FALSE(emittedOf<core::LeaseEnding>().at(0).device);
    EXPECT_NE(ledger.find("10"), nullptr);
}

TEST_F(Leasing, WarnsOnceAtTheHalfOfAShortOne) {
    activate("10", alice);
    attachFor("10", 3, seconds{10});
    pass(seconds{4});
    EXPECT_TRUE(emittedOf<core::LeaseEnding>().empty());
    pass(seconds{1});
    const auto warnings = emittedOf<core::LeaseEnding>();
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0].remaining, seconds{5});
    ASSERT_TRUE(warnings[0].device);
    EXPECT_EQ(warnings[0].device->index, 3U);
    pass(seconds{4});
    EXPECT_EQ(emittedOf<core::LeaseEnding>().size(), 1U);
}

// The last ten minutes of a lease of 19 are more than its half, those of a lease of 20 are not.
TEST_F(Leasing, WarnsInTimeOfOneThatIsAddedAndEndsLater) {
    activate("10", alice);
    attachFor("10", 0, minutes{19});
    attachFor("10", 1, minutes{20});
    pass(minutes{10});
    const auto warnings = emittedOf<core::LeaseEnding>();
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0].device->index, 1U);
    EXPECT_EQ(warnings[0].remaining, minutes{10});
}

TEST_F(Leasing, WarnsInTimeOfOneThatIsExtended) {
    activateFor("10", minutes{19});
    extend("10", minutes{20});
    pass(minutes{10});
    EXPECT_EQ(warned(), std::vector<minutes>{minutes{10}});
}

TEST_F(Leasing, LeavesNothingBehindInAnEnvironmentThatEndsBefore) {
    activateFor("10", hours{1});
    activateFor("20", hours{2});
    ledger.end("10", {core::Reason::user(), alice});
    scheduler.turn();
    EXPECT_EQ(scheduler.pending, 1) << "for the other one";
    ledger.end("20", {core::Reason::user(), alice});
    scheduler.turn();
    EXPECT_EQ(scheduler.pending, 0);
}

TEST_F(Leasing, IsExtendedAndNeverShortened) {
    activateFor("10", hours{2});
    attachFor("10", 0, hours{1});
    extend("10", minutes{90});
    EXPECT_EQ(ledger.get("10").lease->until, clock.bootNow() + hours{2});
    EXPECT_EQ(ledger.get("10").attachments[0].lease->until, clock.bootNow() + minutes{90});
    extend("10", hours{5});
    pass(hours{4});
    EXPECT_EQ(devicesOf("10"), Indices{0});
    pass(minutes{50});
    EXPECT_EQ(warned(), (std::vector<minutes>{minutes{10}, minutes{10}})) << "for what runs now";
    pass(minutes{10});
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Leasing, StaysTheSameIfAnExtensionEndsWithIt) {
    activateFor("10", hours{1});
    attachFor("10", 0, hours{1});
    pass(minutes{45});
    const core::EnvironmentRecord before = ledger.get("10");
    extend("10", minutes{15});
    EXPECT_EQ(ledger.get("10").lease, before.lease);
    EXPECT_EQ(ledger.get("10").attachments[0].lease, before.attachments[0].lease);
    pass(minutes{5});
    EXPECT_EQ(warned(), (std::vector<minutes>{minutes{10}, minutes{10}}));
}

TEST_F(Leasing, IsNeverGivenByAnExtension) {
    activate("10", alice);
    attachCount("10", 1);
    emitted.clear();
    EXPECT_EQ(codeOf([&] { extend("10", hours{1}); }), core::ErrorCode::InvalidArgs);
    EXPECT_TRUE(emitted.empty());
    pass(hours{1});
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(Leasing, IsLifted) {
    activateFor("10", hours{1});
    attachFor("10", 0, hours{1});
    extend("10", std::nullopt);
    pass(hours{10});
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(Leasing, ThatWasExtendedOverALimitByPermissionStaysExempt) {
    activateFor("10", hours{1});
    core::EnvironmentConfigurationChange change;
    change.lifetime = hours{5};
    ledger.configure("10", change, alice, true);
    EXPECT_TRUE(ledger.get("10").exempt);
    extend("10", hours{6});
    EXPECT_TRUE(ledger.get("10").exempt) << "for good";
}

TEST_F(Leasing, EndsAnEnvironmentOnceItsParkingAtTheEndIsUndone) {
    activateFor("10", hours{1});
    pass(minutes{59});
    ledger.beginParking("10", {}, alice, {{}, core::Reason::expired()});
    ledger.undoParking("10", "it uses managed memory");
    pass(minutes{2});
    ASSERT_NE(ledger.find("10"), nullptr) << "its processes still go back to the GPUs";
    ledger.concludeResume("10");
    scheduler.turn();
    EXPECT_EQ(ledger.find("10"), nullptr);
}

// A stand-in for what parks environments at the end of their leases. The test gives the answers.
class LeasingWithParking : public Leasing {
  protected:
    LeasingWithParking() {
        leases.parkBy([this](const core::EnvironmentId& id, std::function<void(bool)> done) {
            answers[id] = std::move(done);
            return true;
        });
        activateFor("10", hours{1});
        pass(hours{1});
    }

    std::map<core::EnvironmentId, std::function<void(bool isParked)>> answers;
};

TEST_F(LeasingWithParking, EndsWhatCannotBeParked) {
    ASSERT_TRUE(answers.contains("10"));
    pass(minutes{1});
    ASSERT_NE(ledger.find("10"), nullptr) << "there is no answer yet";
    answers.at("10")(false);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(LeasingWithParking, GoesOnWithALeaseThatWasExtendedBeforeTheAnswer) {
    extend("10", hours{2});
    answers.at("10")(false);
    ASSERT_NE(ledger.find("10"), nullptr);
    answers.clear();
    pass(hours{2} - seconds{1});
    EXPECT_TRUE(answers.empty());
    pass(seconds{1});
    EXPECT_TRUE(answers.contains("10")) << "the new end is noticed as well";
}

TEST_F(LeasingWithParking, GoesOnWithoutALeaseThatWasLiftedBeforeTheAnswer) {
    extend("10", std::nullopt);
    answers.at("10")(false);
    EXPECT_NE(ledger.find("10"), nullptr);
}

TEST_F(LeasingWithParking, IgnoresAnAnswerAboutAFormerEnvironmentOfThatId) {
    const auto answerAboutFormer = answers.at("10");
    ledger.end("10", {core::Reason::user(), alice});
    answers.clear();
    activateFor("10", hours{1});
    pass(hours{1});
    ASSERT_TRUE(answers.contains("10")) << "its lease ends before the former has an answer";
    answerAboutFormer(false);
    ASSERT_NE(ledger.find("10"), nullptr);
    answers.at("10")(false);
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Leasing, EndsWhateverTheWallClockSays) {
    activateFor("10", hours{1});
    clock.wall += hours{24 * 365};
    pass(minutes{59});
    EXPECT_NE(ledger.find("10"), nullptr);
    clock.wall -= hours{24 * 365 * 2};
    pass(minutes{1});
    EXPECT_EQ(ledger.find("10"), nullptr);
}

TEST_F(Leasing, EndsSoonAfterTheMachineSlept) {
    activateFor("10", hours{1});
    clock.pass(hours{2}); // and the scheduler's clock stood still
    EXPECT_NE(ledger.find("10"), nullptr);
    leases.check();
    EXPECT_EQ(ledger.find("10"), nullptr);
}

} // namespace
} // namespace genv::tests
