// SPDX-License-Identifier: LGPL-2.1-or-later
// The notices that users get about opens that the kernel refused.
#include "core/refusal_watch.hpp"
#include "tests/core/isolation_fixture.hpp"

#include <gtest/gtest.h>

namespace genv::tests {
namespace {

class RefusalWatchTest : public IsolationTest {};

TEST_F(RefusalWatchTest, TellsOfRefusalsOnceAMinute) {
    haveNodes(2);
    core::RefusalWatch watch(isolation, gates, events, clock);
    gates.counted = {{bob, {195, 1}, 5, clock.boot, 77, "python3"}};
    watch.check();
    EXPECT_EQ(emittedOf<core::AccessRefused>().size(), 0U) << "counted before the first reading";
    gates.counted[0].count = 8;
    watch.check();
    clock.pass(std::chrono::seconds{59});
    gates.counted[0].count = 1008;
    watch.check();
    EXPECT_EQ(emittedOf<core::AccessRefused>().size(), 1U);
    clock.pass(std::chrono::seconds{1});
    watch.check();
    watch.check();
    const auto refused = emittedOf<core::AccessRefused>();
    ASSERT_EQ(refused.size(), 2U);
    EXPECT_EQ(refused[0].count, 3U);
    EXPECT_EQ(refused[1].count, 1000U);
    EXPECT_EQ(refused[1].user, bob);
    EXPECT_EQ(refused[1].device.index, 1U);
    EXPECT_EQ(refused[1].command, "python3");
    EXPECT_TRUE(refused[1].isRefused);
    EXPECT_EQ(watch.countOf(ledger.device(1).facts.uuid), 1003U);
    EXPECT_EQ(watch.list().at(0).device, 1U);
    EXPECT_EQ(watch.list().at(0).node, "GPU 1");
}

TEST_F(RefusalWatchTest, ListsANodeOfNoDeviceByItsName) {
    core::Observation seen = observation(1);
    seen.nodes = {{{241, 2}, "MIG monitor", true}};
    observe(seen);
    const core::RefusalWatch watch(isolation, gates, events, clock);
    gates.counted = {{bob, {241, 2}, 1, clock.boot, 77, "python3"}};
    ASSERT_EQ(watch.list().size(), 1U);
    EXPECT_EQ(watch.list()[0].node, "MIG monitor");
    EXPECT_EQ(watch.list()[0].device, std::nullopt);
}

TEST_F(RefusalWatchTest, TellsOnceOfADeviceWithSeveralNodes) {
    core::Observation seen = observation(1);
    seen.devices[0].nodes = {{195, 0}, {510, 1}};
    observe(seen);
    core::RefusalWatch watch(isolation, gates, events, clock);
    watch.check();
    gates.counted = {{bob, {195, 0}, 1, clock.boot, 77, "python3"},
                     {bob, {510, 1}, 2, clock.boot, 77, "python3"}};
    watch.check();
    clock.pass(std::chrono::minutes{1});
    watch.check();
    const auto refused = emittedOf<core::AccessRefused>();
    ASSERT_EQ(refused.size(), 2U);
    EXPECT_EQ(refused[0].count + refused[1].count, 3U);
    clock.pass(std::chrono::minutes{1});
    watch.check();
    EXPECT_EQ(emittedOf<core::AccessRefused>().size(), 2U);
}

TEST_F(RefusalWatchTest, CountsNothingTwiceWhereTheGateCouldNotBeRead) {
    haveNodes(1);
    core::RefusalWatch watch(isolation, gates, events, clock);
    gates.counted = {{bob, {195, 0}, 5, clock.boot, 77, "python3"}};
    watch.check();
    gates.why = "cannot open a map";
    gates.unusable = true;
    watch.check();
    gates.why.clear();
    watch.check();
    EXPECT_EQ(emittedOf<core::AccessRefused>().size(), 0U);
    EXPECT_EQ(watch.countOf(ledger.device(0).facts.uuid), 0U);
}

} // namespace
} // namespace genv::tests
