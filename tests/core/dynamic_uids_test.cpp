// SPDX-License-Identifier: LGPL-2.1-or-later
// People with the uids of systemd's services: when PID 1 is asked, and what its answers mean.
#include "core/settings/dynamic_uids.hpp"

#include <gtest/gtest.h>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::BootTime;
using core::DynamicUids;
using core::Uid;
using enum DynamicUids::Answer;
using enum DynamicUids::Sign;

constexpr Uid erin = 62000;
constexpr BootTime start{1h};

TEST(DynamicUids, AreTheOnlyOnesThatPid1IsAskedAbout) {
    DynamicUids uids;
    for (const Uid uid : {0U, 1U, 999U, 1001U, 61183U, 65520U, 65534U, 100'000U, 0xffffffffU}) {
        EXPECT_FALSE(uids.ask(uid, Login, start)) << uid;
        EXPECT_FALSE(uids.ask(uid, GpuUse, start)) << uid;
    }
    for (const Uid uid : {61184U, 62000U, 65519U})
        EXPECT_TRUE(uids.ask(uid, Login, start)) << uid;
}

TEST(DynamicUids, BelongToAPersonWherePid1KnowsNoService) {
    DynamicUids uids;
    ASSERT_TRUE(uids.ask(erin, GpuUse, start));
    EXPECT_TRUE(uids.people().empty()) << "nobody knows yet";
    EXPECT_TRUE(uids.learn(erin, Person));
    EXPECT_EQ(uids.people(), std::set<Uid>{erin});
    EXPECT_FALSE(uids.learn(erin, Person)) << "nothing changed";
    EXPECT_FALSE(uids.learn(61184, Service));
    EXPECT_EQ(uids.people(), std::set<Uid>{erin});
}

TEST(DynamicUids, StayAsTheyAreWhereThereIsNoSystemd) {
    DynamicUids uids({erin});
    EXPECT_FALSE(uids.learn(erin, None));
    EXPECT_FALSE(uids.learn(61184, None));
    EXPECT_EQ(uids.people(), std::set<Uid>{erin});
}

TEST(DynamicUids, AreAskedAboutOnceAtATimeAndNotInEachCycle) {
    DynamicUids uids;
    ASSERT_TRUE(uids.ask(erin, GpuUse, start));
    EXPECT_FALSE(uids.ask(erin, Login, start + 1h)) << "the answer is pending";
    uids.learn(erin, Service);
    EXPECT_FALSE(uids.ask(erin, GpuUse, start + 59s));
    EXPECT_TRUE(uids.ask(erin, Login, start + 59s)) << "a login is news";
    uids.learn(erin, None);
    EXPECT_FALSE(uids.ask(erin, Login, start + 59s)) << "a flood of logins is none";
    EXPECT_FALSE(uids.ask(erin, GpuUse, start + 100s));
    EXPECT_TRUE(uids.ask(erin, GpuUse, start + 119s)) << "without an answer it is asked again";
}

TEST(DynamicUids, OfPeopleAreAskedAboutAgainForAServiceMayHaveThemNow) {
    DynamicUids uids({erin, 61184}); // found before the service started
    EXPECT_FALSE(uids.ask(erin, GpuUse, start));
    EXPECT_EQ(uids.askAgain(start), (std::vector<Uid>{61184, erin}));
    EXPECT_TRUE(uids.askAgain(start + 1h).empty()) << "the answers are pending";
    EXPECT_TRUE(uids.learn(erin, Service));
    EXPECT_FALSE(uids.learn(61184, Person));
    EXPECT_TRUE(uids.askAgain(start + 59s).empty());
    EXPECT_EQ(uids.askAgain(start + 60s), std::vector<Uid>{61184});
}

} // namespace
} // namespace genv::tests
