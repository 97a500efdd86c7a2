// SPDX-License-Identifier: LGPL-2.1-or-later
// The exchange between scrapes and the sampling threads: the sample that answers a scrape, and how
// long it is valid.
#include "client/monitor/deadlines.hpp"
#include "client/monitor/exchange.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace genv::monitor {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::hours ever{1};

Sample taken(std::uint64_t mark) {
    Sample sample;
    sample.begun = Clock::now();
    sample.omitted = mark;
    return sample;
}

TEST(Exchange, AnswersEveryScrapeThatAskedWithTheSampleThatCame) {
    Exchange exchange(std::chrono::nanoseconds{0});
    const Exchange::Ticket first = exchange.request();
    const Exchange::Ticket second = exchange.request();
    EXPECT_TRUE(exchange.takeRequest());
    std::thread sampling([&] { exchange.publish(taken(7)); });
    EXPECT_EQ(exchange.get(first, Clock::now() + ever).sample->omitted, 7U);
    sampling.join();
    EXPECT_FALSE(exchange.takeRequest());
    // Meanwhile another host was slow, and the sample is older than its maximum age.
    EXPECT_EQ(exchange.get(second, Clock::now()).sample->omitted, 7U);
}

TEST(Exchange, WaitsForNoneLongerThanItIsTold) {
    Exchange exchange(ever);
    EXPECT_FALSE(exchange.get(exchange.request(), Clock::now()).sample);
}

// Otherwise a host that needs longer than a scrape waits would alternate between up and down.
TEST(Exchange, WhatCameLastAnswersWhileTheNextTakesItsTime) {
    Exchange exchange(std::chrono::nanoseconds{0}, ever);
    EXPECT_FALSE(exchange.get(exchange.request(), Clock::now()).sample);
    exchange.publish(taken(1));
    const Exchange::Ticket next = exchange.request();
    EXPECT_TRUE(exchange.takeRequest());
    const Served served = exchange.get(next, Clock::now());
    ASSERT_TRUE(served.sample);
    EXPECT_EQ(served.sample->omitted, 1U);
    Sample old = taken(2);
    old.begun -= 2 * ever;
    exchange.publish(old);
    EXPECT_FALSE(exchange.get(exchange.request(), Clock::now()).sample);
}

TEST(Exchange, WhatIsYoungAnswersUnlessItHasExpired) {
    Exchange exchange(ever);
    exchange.publish(taken(1));
    EXPECT_EQ(exchange.get(exchange.request(), Clock::now()).sample->omitted, 1U);
    EXPECT_FALSE(exchange.takeRequest());
    exchange.expire();
    EXPECT_FALSE(exchange.get(exchange.request(), Clock::now()).sample);
    EXPECT_TRUE(exchange.takeRequest());
}

TEST(Exchange, WhatStandsAnswersHoweverOldItIs) {
    Exchange exchange(std::chrono::nanoseconds{0});
    Sample sample = taken(3);
    sample.standsUntil = Clock::time_point::max();
    exchange.publish(sample);
    const Served served = exchange.get(exchange.request(), Clock::now());
    ASSERT_TRUE(served.sample);
    EXPECT_EQ(served.sample->omitted, 3U);
    EXPECT_FALSE(exchange.takeRequest());
}

TEST(Exchange, ReasonsThatAHostMakesUpAreNotKeptForEver) {
    Exchange exchange(ever);
    exchange.countAction("detach", "rule:" + std::string(1000, 'x'));
    for (int reason = 0; reason < 1000; ++reason)
        exchange.countAction("detach", "rule:" + std::to_string(reason));
    const auto actions = exchange.get(exchange.request(), Clock::now()).counters.actions;
    EXPECT_LE(actions.size(), 65U);
    EXPECT_EQ(actions.at({"detach", "rule:5"}), 1U);
    EXPECT_GE(actions.at({"detach", "other"}), 900U);
}

TEST(Exchange, TakingsAreCountedByResultAndTheirTimesAddUp) {
    Exchange exchange(ever);
    exchange.countTaking(outcome::granted, 6);
    exchange.countTaking(outcome::granted, 5);
    exchange.countTaking(outcome::failed, 120);
    const Counters counters = exchange.get(exchange.request(), Clock::now()).counters;
    EXPECT_EQ(counters.takings.at(outcome::granted), 2U);
    EXPECT_EQ(counters.takings.at(outcome::failed), 1U);
    EXPECT_DOUBLE_EQ(counters.takingSeconds, 131);
}

TEST(Exchange, ReasonsOfParkingAreBoundedTooAndItsTimesAddUp) {
    Exchange exchange(ever);
    for (int reason = 0; reason < 1000; ++reason)
        exchange.countPark(std::to_string(reason), outcome::parked, 2);
    exchange.countResume(outcome::resumed, 0.5);
    exchange.countResume(outcome::lost, 0);
    const Counters counters = exchange.get(exchange.request(), Clock::now()).counters;
    EXPECT_LE(counters.parks.size(), 65U);
    EXPECT_EQ(counters.parks.at({outcome::parked, "5"}), 1U);
    EXPECT_GE(counters.parks.at({outcome::parked, "other"}), 900U);
    EXPECT_EQ(counters.parkingSeconds, 2000);
    EXPECT_EQ(counters.resumingSeconds, 0.5);
    EXPECT_EQ(counters.resumes.at(outcome::lost), 1U);
}

TEST(Deadlines, CancelWhatTakesTooLongAndNothingElse) {
    Deadlines deadlines;
    remote::Cancellation late;
    remote::Cancellation early;
    const Deadlines::Bound far(deadlines, early, Clock::now() + ever);
    const Deadlines::Bound near(deadlines, late, Clock::now() + std::chrono::milliseconds{1});
    while (!late.isCancelled())
        std::this_thread::yield();
    EXPECT_FALSE(early.isCancelled());
}

TEST(Deadlines, EndAllEndsWhatRunsAndWhatBegins) {
    Deadlines deadlines;
    remote::Cancellation runs;
    const Deadlines::Bound bound(deadlines, runs, Clock::time_point::max());
    deadlines.endAll();
    EXPECT_TRUE(runs.isCancelled());
    remote::Cancellation begins;
    const Deadlines::Bound other(deadlines, begins, Clock::time_point::max());
    EXPECT_TRUE(begins.isCancelled());
}

} // namespace

} // namespace genv::monitor
