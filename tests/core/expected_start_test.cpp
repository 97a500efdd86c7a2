// SPDX-License-Identifier: LGPL-2.1-or-later
// When waiting requests are expected to start: from leases, else from the lengths of earlier
// environments, and shown only while such expectations come true.
#include "core/queue/expected_start.hpp"
#include "core/use/use_record.hpp"
#include "tests/core/queue_fixture.hpp"

namespace genv::tests {
namespace {

using core::CountWanted;
using std::chrono::hours;
using std::chrono::minutes;

class ExpectedStarts : public Queueing {
  protected:
    void SetUp() override {
        haveGpus(1);
        activate("10", alice, {"train", {}, {}, false});
        activate("20", bob);
        attachCount("10", 1);
    }
    // The minutes until a request is expected to start, or -1.
    [[nodiscard]] std::int64_t minutesOf(core::Queue::Ticket ticket) const {
        for (const core::Queue::WaitState& state : queue.states()) {
            if (state.ticket == ticket && state.expectedStart)
                return std::chrono::round<minutes>(*state.expectedStart - clock.bootNow()).count();
        }
        return -1;
    }
    void pass(minutes time) {
        clock.pass(time);
        scheduler.pass(time);
    }
};

TEST(StartHistory, CountsAWaitAsExpectedThatTookExactlyTwiceOrHalfAsLong) {
    const FakeClock clock;
    core::StartHistory longer(clock);
    longer.waited(hours{1}, hours{2});
    EXPECT_TRUE(longer.isReliable());
    core::StartHistory shorter(clock);
    shorter.waited(hours{2}, hours{1});
    EXPECT_TRUE(shorter.isReliable());
    shorter.waited(hours{2}, minutes{59});
    shorter.waited(hours{2}, minutes{59});
    EXPECT_FALSE(shorter.isReliable());
}

TEST_F(ExpectedStarts, FollowFromTheLeasesOfTheHolders) {
    const auto first = askCount("20", 1);
    EXPECT_EQ(minutesOf(*first), -1) << "nothing is known about the holder";
    detach("10");
    ASSERT_TRUE(isGranted("20"));
    detach("20");
    ledger.attach("10", planned("10", {CountWanted{1}, {}, {}, false}), alice, {false, hours{2}});
    EXPECT_EQ(minutesOf(*askCount("20", 1)), 120);
}

TEST_F(ExpectedStarts, FollowFromTheMedianOfEarlierEnvironmentsOfTheSameName) {
    for (const minutes length : {minutes{10}, minutes{60}, minutes{600}})
        history.ended(alice, "train", length);
    history.ended(alice, "test", minutes{1});
    history.ended(bob, "train", minutes{2});
    const auto ticket = askCount("20", 1);
    EXPECT_EQ(minutesOf(*ticket), 60);
    pass(minutes{20});
    EXPECT_EQ(minutesOf(*ticket), 40);
    pass(minutes{50});
    EXPECT_EQ(minutesOf(*ticket), 530) << "only one lasted longer";
    pass(minutes{540});
    EXPECT_EQ(minutesOf(*ticket), -1) << "none lasted so long";
}

TEST_F(ExpectedStarts, FollowFromThoseOfTheRequestsBefore) {
    history.ended(alice, "train", minutes{60});
    activate("30", bob, {"short", {}, {}, false});
    activate("40", alice);
    history.ended(bob, "short", minutes{5});
    askCount("30", 1);
    EXPECT_EQ(minutesOf(*askCount("40", 1)), 65);
    askCount("20", 1); // of unknown length, since it has no name
    activate("50", alice);
    EXPECT_EQ(minutesOf(*askCount("50", 1)), -1);
}

TEST_F(ExpectedStarts, AreUnknownForRequestsThatAQuotaHoldsBack) {
    limits.maxDevices = 1;
    activate("11", alice);
    history.ended(alice, "train", minutes{60});
    ledger.attach("11", core::PlannedWait{{CountWanted{1}, {}, {}, false}, {}, true, true}, alice);
    const auto held = ledger.get("11").waits.back().ticket;
    await(queue, "11", held);
    scheduler.turn();
    const auto passing = askCount("20", 1);
    EXPECT_EQ(minutesOf(held), -1);
    EXPECT_EQ(minutesOf(*passing), 60) << "it passes the held one";
}

TEST_F(ExpectedStarts, AreShownWhileHalfOfThemWereRight) {
    history.ended(alice, "train", minutes{60});
    const auto ticket = askCount("20", 1);
    scheduler.turn();
    EXPECT_EQ(minutesOf(*ticket), 60);
    pass(minutes{5});
    detach("10"); // twelve times as early
    ASSERT_TRUE(isGranted("20"));
    EXPECT_FALSE(history.isReliable());
    detach("20");
    attachCount("10", 1);
    EXPECT_EQ(minutesOf(*askCount("20", 1)), -1);
    history.waited(minutes{60}, minutes{31});
    EXPECT_TRUE(history.isReliable());
    history.waited(minutes{60}, minutes{121});
    EXPECT_FALSE(history.isReliable());
    for (std::size_t i = 0; i < core::StartHistory::maxGuesses; ++i)
        history.waited(minutes{60}, minutes{121});
    for (std::size_t i = 0; i < core::StartHistory::maxGuesses; ++i)
        history.waited(minutes{60}, minutes{60});
    EXPECT_TRUE(history.isReliable()) << "only the last ones count";
}

TEST_F(ExpectedStarts, OutliveARestart) {
    ledger.deactivate("10", alice);
    for (std::size_t i = 0; i < 2 * core::StartHistory::maxLengths; ++i)
        history.ended(bob, "a \"name\"", hours{i + 1});
    history.waited(minutes{1}, minutes{10});
    core::UseRecord record;
    history.addTo(record);
    core::StartHistory restored(clock);
    restored.restore(core::decodeUse(core::encodeUse(record)));
    EXPECT_EQ(restored.expectedLength(alice, "train", {}), std::chrono::seconds{1})
        << "it held a device and ended at once";
    EXPECT_EQ(restored.expectedLength(bob, "a \"name\"", {}), hours{31}) << "of the last 20";
    EXPECT_FALSE(restored.isReliable());
}

TEST_F(ExpectedStarts, AreForgottenInABoundedList) {
    for (std::size_t i = 0; i <= core::StartHistory::maxRows; ++i)
        history.ended(alice, std::to_string(i), minutes{1});
    EXPECT_FALSE(history.expectedLength(alice, "0", {}));
    EXPECT_TRUE(history.expectedLength(alice, "1", {}));
    core::UseRecord record;
    history.addTo(record);
    EXPECT_EQ(record.lengths.size(), core::StartHistory::maxRows);
}

} // namespace
} // namespace genv::tests
