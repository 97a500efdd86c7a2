// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/history_store.hpp"

#include <gtest/gtest.h>

namespace genv::top::tests {
namespace {

constexpr Time start{std::chrono::hours{500000}};

TEST(TopHistory, EndsNowAndForgetsWhatIsOlderThanTenMinutes) {
    HistoryStore store;
    store.add(0, start, 50);
    EXPECT_EQ(store.of(0, start).back(), 50);
    EXPECT_EQ(store.of(0, start + std::chrono::seconds{20}).at(historySteps - 3), 50);
    EXPECT_EQ(store.of(0, start + std::chrono::minutes{10}), unknownHistory);
    EXPECT_EQ(store.of(1, start), unknownHistory);
}

TEST(TopHistory, AStepIsTheMeanOfItsSamples) {
    HistoryStore store;
    store.add(0, start, 10);
    store.add(0, start, 10); // the same sample again
    store.add(0, start + std::chrono::seconds{2}, 40);
    EXPECT_EQ(store.of(0, start).back(), 25);
}

TEST(TopHistory, ANewerStepTakesThePlaceOfAnOldOne) {
    HistoryStore store;
    store.add(0, start, 10);
    store.add(0, start + std::chrono::minutes{10}, 90);
    store.add(0, start, 20); // too late
    EXPECT_EQ(store.of(0, start + std::chrono::minutes{10}).back(), 90);
}

} // namespace
} // namespace genv::top::tests
