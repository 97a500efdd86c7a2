// SPDX-License-Identifier: LGPL-2.1-or-later
// The notices that users get about opens that the kernel refused.
#include "core/isolation/refusal_watch.hpp"
#include "tests/core/isolation_fixture.hpp"

#include <gtest/gtest.h>

namespace genv::tests {
namespace {

class RefusalWatchTest : public IsolationTest {
  protected:
    /// A service that begins now.
    core::RefusalWatch start() { return {isolation, gates, reports, events, clock}; }
    /// Bob tries to open GPU INDEX so many times.
    void count(core::DeviceIndex index, const core::OpenCounts& counts) {
        for (core::RefusedOpens& each : gates.counted) {
            if (each.node.minor == index) {
                each.counts = counts;
                return;
            }
        }
        gates.counted.push_back({bob, {195, index}, counts, clock.boot, 77, "python3"});
    }
    /// Returns the sums of all events.
    [[nodiscard]] core::OpenCounts told() const {
        core::OpenCounts sum;
        for (const core::AccessRefused& event : emittedOf<core::AccessRefused>())
            (event.isRefused ? sum.refused : sum.watched) += event.count;
        return sum;
    }

    KeptReports reports;
};

TEST_F(RefusalWatchTest, TellsOfRefusalsOnceAMinute) {
    haveNodes(2);
    core::RefusalWatch watch = start();
    watch.check();
    count(1, {3});
    watch.check();
    clock.pass(std::chrono::seconds{59});
    count(1, {1003});
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

TEST_F(RefusalWatchTest, TellsOfRefusalsBeforeTheFirstStart) {
    haveNodes(1);
    count(0, {4});
    core::RefusalWatch watch = start();
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{4, 0}));
    EXPECT_EQ(watch.countOf(ledger.device(0).facts.uuid), 0U) << "since the service started";
}

TEST_F(RefusalWatchTest, LosesNothingAndRepeatsNothingOverAStop) {
    haveNodes(2);
    {
        core::RefusalWatch watch = start();
        count(0, {1});
        watch.check();
        count(0, {3});
        count(1, {2});
        watch.check(); // within the minute of silence about GPU 0
        EXPECT_EQ(told(), (core::OpenCounts{3, 0}));
        count(1, {5}); // after the last reading
        watch.reportAll();
        EXPECT_EQ(told(), (core::OpenCounts{8, 0}));
    }
    count(0, {4}); // while the service is stopped
    core::RefusalWatch watch = start();
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{9, 0}));
    clock.pass(std::chrono::minutes{1});
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{9, 0}));
}

TEST_F(RefusalWatchTest, LosesNothingAndRepeatsNothingOverAKill) {
    haveNodes(1);
    for (std::uint64_t total = 10; total <= 40; total += 10) {
        core::RefusalWatch watch = start(); // the one before never came to reportAll()
        watch.check();
        EXPECT_EQ(told(), (core::OpenCounts{total - 10, 0}));
        count(0, {total});
        watch.check();
    }
    start().check();
    EXPECT_EQ(told(), (core::OpenCounts{40, 0}));
}

TEST_F(RefusalWatchTest, WaitsForTheDriverToNameTheDevice) {
    count(0, {2});
    core::RefusalWatch watch = start();
    watch.check();
    EXPECT_EQ(told(), core::OpenCounts{});
    haveNodes(1);
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{2, 0}));
}

TEST_F(RefusalWatchTest, RepeatsNothingWhereTheReportsAreLost) {
    haveNodes(1);
    count(0, {5});
    reports.kept.reset();
    {
        core::RefusalWatch watch = start();
        watch.check();
        EXPECT_EQ(told(), core::OpenCounts{});
    }
    count(0, {6});
    core::RefusalWatch watch = start();
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{1, 0}));
}

TEST_F(RefusalWatchTest, BeginsAgainWhereTheKernelDroppedACounter) {
    haveNodes(1);
    count(0, {50});
    {
        core::RefusalWatch watch = start();
        watch.check();
        count(0, {3});
        watch.reportAll();
        EXPECT_EQ(told(), (core::OpenCounts{53, 0}));
    }
    count(0, {2});
    start().check();
    EXPECT_EQ(told(), (core::OpenCounts{55, 0}));
}

// The silence after a notice lasts until the new counter is beyond the former one.
TEST_F(RefusalWatchTest, TellsOfAllSinceTheKernelDroppedACounterThatGrewBeyondTheFormerOne) {
    haveNodes(2);
    core::RefusalWatch watch = start();
    watch.check();
    count(0, {5, 0});
    count(1, {0, 5});
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{5, 5}));
    count(0, {2, 0});
    count(1, {0, 2});
    watch.check();
    count(0, {9, 0});
    count(1, {0, 9});
    clock.pass(std::chrono::minutes{1});
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{14, 14}));
}

TEST_F(RefusalWatchTest, WritesOnlyWhatIsNew) {
    haveNodes(1);
    core::RefusalWatch watch = start();
    watch.check();
    watch.reportAll();
    EXPECT_EQ(reports.writes, 0U);
    count(0, {1});
    watch.check();
    count(0, {100});
    watch.check();
    EXPECT_EQ(reports.writes, 1U) << "a flood writes once a minute";
}

TEST_F(RefusalWatchTest, KeepsWatchedOpensApartFromRefusedOnes) {
    settings.mode = core::IsolationMode::Watch;
    haveNodes(2);
    core::RefusalWatch watch = start();
    count(0, {0, 7});
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{0, 7}));
    ASSERT_EQ(watch.list().size(), 1U);
    EXPECT_EQ(watch.list()[0].count, 7U);
    settings.mode = core::IsolationMode::User;
    isolation.checkAll();
    EXPECT_TRUE(watch.list().empty()) << "nothing was refused";
    count(0, {2, 9});
    count(1, {0, 1});
    watch.reportAll();
    EXPECT_EQ(told(), (core::OpenCounts{2, 10}));
    ASSERT_EQ(watch.list().size(), 1U);
    EXPECT_EQ(watch.list()[0].count, 2U);
}

TEST_F(RefusalWatchTest, ListsANodeOfNoDeviceByItsName) {
    core::Observation seen = observation(1);
    seen.nodes = {{{241, 2}, "MIG monitor", true}};
    observe(seen);
    const core::RefusalWatch watch = start();
    gates.counted = {{bob, {241, 2}, {1}, clock.boot, 77, "python3"}};
    ASSERT_EQ(watch.list().size(), 1U);
    EXPECT_EQ(watch.list()[0].node, "MIG monitor");
    EXPECT_EQ(watch.list()[0].device, std::nullopt);
}

TEST_F(RefusalWatchTest, TellsOnceOfADeviceWithSeveralNodes) {
    core::Observation seen = observation(1);
    seen.devices[0].nodes = {{195, 0}, {510, 1}};
    observe(seen);
    core::RefusalWatch watch = start();
    watch.check();
    gates.counted = {{bob, {195, 0}, {1}, clock.boot, 77, "python3"},
                     {bob, {510, 1}, {2}, clock.boot, 77, "python3"}};
    watch.check();
    clock.pass(std::chrono::minutes{1});
    watch.check();
    const auto refused = emittedOf<core::AccessRefused>();
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_EQ(refused[0].count, 3U);
}

TEST_F(RefusalWatchTest, CountsNothingTwiceWhereTheGateCouldNotBeRead) {
    haveNodes(1);
    core::RefusalWatch watch = start();
    count(0, {5});
    watch.check();
    gates.why = "cannot open a map";
    gates.unusable = true;
    watch.check();
    gates.why.clear();
    clock.pass(std::chrono::minutes{1});
    watch.check();
    EXPECT_EQ(told(), (core::OpenCounts{5, 0}));
    EXPECT_EQ(watch.countOf(ledger.device(0).facts.uuid), 0U);
}

} // namespace
} // namespace genv::tests
