// SPDX-License-Identifier: LGPL-2.1-or-later
// The readings of the last hour: bounded, in order, each with its own device, and read page by
// page.
#include "core/devices/reading_ring.hpp"
#include "tests/core/ledger_fixture.hpp"

#include <fmt/format.h>

namespace genv::tests {

using Texts = std::vector<std::string>;

namespace {

using namespace std::chrono_literals;

class ReadingRingTest : public LedgerTest {
  protected:
    /// Takes a sample of these devices. The utilisation identifies the sample.
    void sample(std::vector<core::DeviceFacts> devices, std::uint32_t percent = 0) {
        core::Observation observation;
        observation.started = clock.boot;
        observation.takenAt = clock.wall;
        for (core::DeviceFacts& facts : devices) {
            observation.devices.push_back(sampleOf(std::move(facts)));
            observation.devices.back().reading.utilizationPercent = percent;
        }
        ledger.observed(observation);
        ring.observed(ledger.devices(), observation);
    }
    void sampleAfter(std::chrono::milliseconds time, std::uint32_t percent = 0) {
        clock.pass(time);
        sample({gpuFacts(0), gpuFacts(1)}, percent);
    }

    /// Returns each row as "index seconds percent", in seconds since the test began.
    Texts after(core::WallTime since = {}, std::size_t maxRows = 1000) const {
        Texts texts;
        for (const core::ReadingRow& row : ring.after(since, maxRows, ledger.devices())) {
            const auto time = std::chrono::duration_cast<std::chrono::seconds>(row.when - began);
            texts.push_back(fmt::format("{} {} {}", row.device, time.count(),
                                        row.reading.utilizationPercent.value_or(999)));
        }
        return texts;
    }

    core::ReadingRing ring;
    const core::WallTime began = clock.wall;
};

TEST_F(ReadingRingTest, HasNothingBeforeTheFirstSample) {
    EXPECT_EQ(after(), Texts{});
    sample({});
    EXPECT_EQ(after(), Texts{}) << "a machine without a GPU";
}

TEST_F(ReadingRingTest, TellsOldestFirstAndByIndexWhatIsStrictlyNewer) {
    sampleAfter(0s, 1);
    sampleAfter(10s, 2);
    EXPECT_EQ(after(), (Texts{"0 0 1", "1 0 1", "0 10 2", "1 10 2"}));
    EXPECT_EQ(after(began), (Texts{"0 10 2", "1 10 2"}));
    EXPECT_EQ(after(began + 10s - 1us), (Texts{"0 10 2", "1 10 2"}));
    EXPECT_EQ(after(began + 10s), Texts{});
    EXPECT_EQ(after(core::WallTime::max()), Texts{}) << "the future";
}

TEST_F(ReadingRingTest, KeepsEveryNumberThatIsKnown) {
    core::Observation observation;
    observation.devices = {sampleOf(gpuFacts(0)), sampleOf(gpuFacts(1)), sampleOf(gpuFacts(2))};
    observation.devices[0].reading = {core::Bytes{1}, 2, -3, 4, 5};
    observation.devices[2].reading.powerMilliwatts = 0xFFFFFFFF; // the bus value for "unknown"
    ledger.observed(observation);
    ring.observed(ledger.devices(), observation);
    const auto rows = ring.after(core::WallTime{-1us}, 10, ledger.devices());
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].reading, (core::PastReading{core::Bytes{1}, 2, -3, 4}));
    EXPECT_EQ(rows[1].reading, core::PastReading{});
    EXPECT_EQ(rows[2].reading, core::PastReading{});
}

TEST_F(ReadingRingTest, TakesASampleEveryTenSecondsAtTheClosest) {
    for (int i = 0; i < 25; ++i)
        sampleAfter(1s, 1);
    EXPECT_EQ(after(), (Texts{"0 1 1", "1 1 1", "0 11 1", "1 11 1", "0 21 1", "1 21 1"}));
}

TEST_F(ReadingRingTest, TakesEverySampleOfATimerThatIsEarly) {
    for (int i = 0; i < 100; ++i)
        sampleAfter(i % 2 == 0 ? 9'600ms : 10'400ms);
    EXPECT_EQ(after().size(), 200U);
}

TEST_F(ReadingRingTest, KeepsAnHourAndAtMost360ReadingsOfADevice) {
    for (int i = 0; i < 1000; ++i)
        sampleAfter(10s);
    EXPECT_EQ(after({}, 100'000).size(), 2U * core::ReadingRing::maxMoments);
    EXPECT_EQ(after().front(), "0 6410 0");
    for (int i = 0; i < 1000; ++i)
        sampleAfter(9'500ms);
    EXPECT_EQ(after({}, 100'000).size(), 2U * core::ReadingRing::maxMoments);
    for (int i = 0; i < 1000; ++i)
        sampleAfter(60s);
    EXPECT_EQ(after().size(), 2U * 60);
    sampleAfter(2h, 7);
    EXPECT_EQ(after().size(), 2U) << "what is older than an hour is gone with the next sample";
}

TEST_F(ReadingRingTest, NeverSplitsTheReadingsOfOneTime) {
    for (std::uint32_t i = 0; i < 5; ++i)
        sampleAfter(10s, i);
    EXPECT_EQ(after({}, 5), (Texts{"0 10 0", "1 10 0", "0 20 1", "1 20 1"}));
    EXPECT_EQ(after({}, 4).size(), 4U);
    EXPECT_EQ(after({}, 1), (Texts{"0 10 0", "1 10 0"})) << "more than fit, but never none";
    Texts all;
    core::WallTime since;
    for (auto page = ring.after(since, 3, ledger.devices()); !page.empty();
         page = ring.after(since, 3, ledger.devices())) {
        EXPECT_EQ(page.size(), 2U);
        since = page.back().when;
        all.push_back(fmt::format("{}", *page.back().reading.utilizationPercent));
    }
    EXPECT_EQ(all, (Texts{"0", "1", "2", "3", "4"}));
}

TEST_F(ReadingRingTest, FollowsADeviceToItsNewIndex) {
    // Samples two GPUs at these indices, each with its own utilisation.
    const auto sampleAt = [&](core::DeviceIndex first, core::DeviceIndex second,
                              std::uint32_t busy) {
        core::Observation observation;
        observation.started = clock.boot;
        observation.takenAt = clock.wall;
        for (const auto& [uuid, index] : {std::pair{"GPU-0", first}, std::pair{"GPU-1", second}}) {
            core::DeviceFacts facts = gpuFacts(index);
            facts.uuid = uuid;
            observation.devices.push_back(sampleOf(facts));
            observation.devices.back().reading.utilizationPercent = busy++;
        }
        ledger.observed(observation);
        ring.observed(ledger.devices(), observation);
        clock.pass(10s);
    };
    sampleAt(0, 1, 10);
    EXPECT_EQ(after(), (Texts{"0 0 10", "1 0 11"}));
    sampleAt(1, 0, 20);
    EXPECT_EQ(after(), (Texts{"0 0 11", "1 0 10", "0 10 21", "1 10 20"}));
    sampleAt(5, 3, 30);
    EXPECT_EQ(after(began + 10s), (Texts{"3 20 31", "5 20 30"}));
}

TEST_F(ReadingRingTest, HasNoReadingsOfADeviceThatIsGoneAndAllOfOneThatCameBack) {
    sampleAfter(0s, 1);
    clock.pass(10s);
    sample({gpuFacts(0)}, 2);
    EXPECT_EQ(after(), (Texts{"0 0 1", "0 10 2"}));
    sampleAfter(10s, 3);
    EXPECT_EQ(after(), (Texts{"0 0 1", "1 0 1", "0 10 2", "0 20 3", "1 20 3"}));
}

TEST_F(ReadingRingTest, DropsWhatWouldBeInTheFutureWhenTheClockIsSetBack) {
    for (std::uint32_t i = 0; i < 4; ++i)
        sampleAfter(10s, i);
    clock.wall -= 25s; // and 10 s pass
    sampleAfter(10s, 9);
    EXPECT_EQ(after(), (Texts{"0 10 0", "1 10 0", "0 20 1", "1 20 1", "0 25 9", "1 25 9"}));
    clock.wall -= 1h;
    sampleAfter(10s, 8);
    EXPECT_EQ(after().size(), 2U);
}

TEST_F(ReadingRingTest, KeepsWhatItHasWhenTheClockIsSetForward) {
    sampleAfter(10s, 1);
    clock.wall += 48h;
    sampleAfter(10s, 2);
    EXPECT_EQ(after(), (Texts{"0 10 1", "1 10 1", "0 172820 2", "1 172820 2"}));
    EXPECT_EQ(after(began + 10s).size(), 2U);
}

TEST_F(ReadingRingTest, LeavesOutADeviceWhoseReadingsAreOfAnotherTime) {
    sampleAfter(0s, 1);
    core::Observation observation;
    clock.pass(10s);
    observation.started = clock.boot;
    observation.takenAt = clock.wall;
    observation.noDriver = "no driver";
    ledger.observed(observation); // contains nothing new
    ring.observed(ledger.devices(), observation);
    EXPECT_EQ(after(), (Texts{"0 0 1", "1 0 1"}));
}

} // namespace
} // namespace genv::tests
