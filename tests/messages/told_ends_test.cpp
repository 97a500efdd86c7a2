// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/daemon/job_watch.hpp"

#include <gtest/gtest.h>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

JobFacts ended(std::uint32_t number, std::chrono::microseconds at) {
    return {.number = number, .state = "done", .ended = static_cast<std::uint64_t>(at.count())};
}

constexpr core::WallTime start(1000s);

TEST(ToldEnds, AreNewOnce) {
    ToldEnds told(start);
    EXPECT_FALSE(told.add(ended(1, 900s))) << "before the first start";
    EXPECT_TRUE(told.add(ended(2, 1001s)));
    EXPECT_FALSE(told.add(ended(2, 1001s)));
    EXPECT_TRUE(told.add(ended(3, 1001s)));
    EXPECT_TRUE(told.add(ended(2, 1005s))) << "it ran again";
}

TEST(ToldEnds, AreKnownAfterARestart) {
    ToldEnds told(start);
    told.add(ended(2, 1001s));
    ToldEnds again(told.encode(), start + 1h);
    EXPECT_FALSE(again.add(ended(2, 1001s)));
    EXPECT_TRUE(again.add(ended(3, 1002s))) << "it ended while nobody listened";
    for (const char* text : {"", "{}", "{\"since\":\"x\",\"ends\":[]}", "[1]"})
        EXPECT_FALSE(ToldEnds(text, start + 1h).add(ended(3, 1002s))) << text;
}

TEST(ToldEnds, AreForgottenWhenNobodyListsThemAnyMore) {
    ToldEnds told(start);
    told.add(ended(2, 1001s));
    told.forgetBefore(start + 10s);
    EXPECT_EQ(told.encode(), "{\"ends\":[],\"since\":1010000000}");
    EXPECT_FALSE(told.add(ended(2, 1001s)));
}

} // namespace

} // namespace genv::messages
