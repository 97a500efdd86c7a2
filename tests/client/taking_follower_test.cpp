// SPDX-License-Identifier: LGPL-2.1-or-later
// What a waiting genvctl says while environments are parked for its request.
#include "client/genvctl/environment/taking_follower.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

const ctl::TakingFollower::Clock::time_point start{1h};

WaitingRequest takes(const std::string& id) {
    WaitingRequest request;
    request.taking = Taking{{{id, "training", "alice", std::uint64_t{12} << 30}}, {0}, 5200ms, {}};
    return request;
}

TEST(TakingFollower, CountsDownWhatRemainsOfTheEstimate) {
    ctl::TakingFollower follower;
    EXPECT_FALSE(follower.follow({}, start));
    const auto first = follower.follow(takes("7"), start);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->text, "parking \"training\" of alice for GPU 0: 12 GiB, about 6 s");
    EXPECT_TRUE(first->counts);
    EXPECT_FALSE(first->stays);
    const auto later = follower.follow(takes("7"), start + 4s);
    EXPECT_EQ(later->text, "parking \"training\" of alice for GPU 0: 12 GiB, about 2 s");
    EXPECT_EQ(later->stage, first->stage) << "a pipe gets one line";
    EXPECT_EQ(follower.follow(takes("7"), start + 7s)->text,
              "parking \"training\" of alice for GPU 0: 12 GiB, longer than expected");
}

TEST(TakingFollower, SaysOnceThatItFailedAndWhy) {
    ctl::TakingFollower follower;
    follower.follow(takes("7"), start);
    WaitingRequest failed;
    failed.problem = "process 12 uses MPS";
    const auto line = follower.follow(failed, start + 1s);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->text, "\"training\" of alice could not be parked: process 12 uses MPS; the "
                          "request waits on");
    EXPECT_TRUE(line->stays);
    EXPECT_FALSE(follower.follow(failed, start + 2s));
}

TEST(TakingFollower, FollowsThePlanAfterAFailedOne) {
    ctl::TakingFollower follower;
    const auto first = follower.follow(takes("7"), start);
    ASSERT_TRUE(first);
    const auto failed = follower.follow(takes("8"), start + 1s);
    ASSERT_TRUE(failed);
    EXPECT_TRUE(failed->stays) << "7 could not be parked";
    const auto second = follower.follow(takes("8"), start + 3s);
    ASSERT_TRUE(second);
    EXPECT_NE(second->stage, first->stage) << "a pipe gets another line";
    EXPECT_NE(second->text.find("about 6 s"), std::string::npos) << "its estimate is its own";
}

} // namespace
} // namespace genv::tests
