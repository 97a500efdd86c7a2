// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that no process accounts for: when it counts, and what it does to placement and shares.
#include "core/sentences/sentences.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::Bytes;
using core::CountWanted;
using core::Health;
using core::IndicesWanted;
using Indices = std::vector<core::DeviceIndex>;
using std::chrono::seconds;

constexpr Bytes gibibytes(std::uint64_t count) {
    return {count << 30U};
}

// Two GPUs of 80 GiB. GPU 0 has used memory of which nobody knows the process.
class UnaccountedMemory : public LedgerTest {
  protected:
    static constexpr Bytes total = gibibytes(80);
    static constexpr Bytes reserved = gibibytes(1);

    core::Observation seen(std::optional<Bytes> unaccounted, Bytes accounted = {}) {
        core::Observation observation = gpus(2);
        observation.started = clock.bootNow();
        for (core::DeviceSample& device : observation.devices) {
            device.facts.totalMemory = total;
            device.reading.usedMemory = Bytes{0};
            device.memory = {total - reserved, Bytes{0}};
        }
        const Bytes used = unaccounted.value_or(Bytes{0}) + accounted;
        observation.devices[0].reading.usedMemory = used;
        observation.devices[0].memory = {total - reserved - used, unaccounted};
        return observation;
    }
    void sample(std::optional<Bytes> unaccounted, Bytes accounted = {}) {
        ledger.observed(seen(unaccounted, accounted));
    }
    void sampleTwice(Bytes unaccounted, Bytes accounted = {}) {
        sample(unaccounted, accounted);
        sample(unaccounted, accounted);
    }
    [[nodiscard]] Bytes found() const { return ledger.device(0).unaccounted.amount(); }
    std::string refusal(const AttachRequest& request) {
        try {
            planned("10", request);
        } catch (const core::Error& error) {
            return error.what();
        }
        return "";
    }
};

TEST_F(UnaccountedMemory, CountsAfterTwoSamplesInARow) {
    sample(gibibytes(37));
    EXPECT_EQ(found(), Bytes{0}) << "one sample proves nothing";
    sample(gibibytes(0));
    sample(gibibytes(37));
    EXPECT_EQ(found(), Bytes{0}) << "not in a row";
    sample(gibibytes(36));
    EXPECT_EQ(found(), gibibytes(36));
    EXPECT_FALSE(ledger.device(0).isFree());
    EXPECT_TRUE(ledger.device(1).isFree());
    sample(gibibytes(0));
    EXPECT_EQ(found(), Bytes{0});
    EXPECT_TRUE(ledger.device(0).isFree());
}

TEST_F(UnaccountedMemory, CountsAboveAGibibyteOrTwoPercent) {
    EXPECT_EQ(core::unaccountedThreshold(gibibytes(16)), gibibytes(1));
    EXPECT_EQ(core::unaccountedThreshold(gibibytes(100)), gibibytes(2));
    EXPECT_EQ(core::unaccountedThreshold(Bytes{0}), gibibytes(1)) << "of an unknown total";
    const Bytes threshold = core::unaccountedThreshold(total);
    sampleTwice(threshold);
    EXPECT_EQ(found(), Bytes{0});
    sampleTwice(threshold + Bytes{1});
    EXPECT_EQ(found(), threshold + Bytes{1});
}

TEST_F(UnaccountedMemory, IsNotJudgedWhereTheDriverDoesNotKnowEveryProcess) {
    sampleTwice(gibibytes(37));
    sample(std::nullopt);
    EXPECT_EQ(found(), Bytes{0});
    EXPECT_FALSE(ledger.device(0).unaccounted.isSuspected());
}

TEST_F(UnaccountedMemory, OfADeviceThatWasJustGivenBackIsNotJudged) {
    sample(Bytes{0});
    activate("10", alice);
    attachIndices("10", {0});
    processes.exit(10);
    ASSERT_TRUE(ledger.device(0).holders.empty());
    clock.pass(seconds(1));
    sampleTwice(gibibytes(37));
    clock.pass(core::releaseTime - seconds(1) - std::chrono::milliseconds(1));
    sample(gibibytes(37));
    EXPECT_EQ(found(), Bytes{0});
    clock.pass(std::chrono::milliseconds(1));
    sampleTwice(gibibytes(37));
    EXPECT_EQ(found(), gibibytes(37)) << "nothing frees it any more";
}

TEST_F(UnaccountedMemory, ThatWasFoundBeforeStaysFoundWhenAnEnvironmentEnds) {
    sampleTwice(gibibytes(37));
    activate("10", alice);
    attachIndices("10", {0});
    processes.exit(10);
    sample(gibibytes(37));
    EXPECT_EQ(found(), gibibytes(37));
}

TEST_F(UnaccountedMemory, MakesItsDeviceTheLastChoice) {
    sampleTwice(gibibytes(37));
    activate("10", alice);
    attachCount("10", 1);
    EXPECT_EQ(devicesOf("10"), Indices{1});
    const core::Placement second = planned("10", {CountWanted{2}, {}, {}, false});
    ASSERT_EQ(second.attach.size(), 1U);
    EXPECT_TRUE(second.attach[0].occupied);
    EXPECT_FALSE(second.attach[0].overSubscribed) << "a whole device is given all the same";
}

TEST_F(UnaccountedMemory, IsStillBetterThanAnUnhealthyDevice) {
    core::Observation observation = seen(gibibytes(37));
    observation.devices[1].health = {Health::State::Xid, 79};
    ledger.observed(observation);
    ledger.observed(observation);
    activate("10", alice);
    attachCount("10", 1);
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(UnaccountedMemory, ThatOneSampleFoundCallsForAnother) {
    sample(gibibytes(37));
    activate("10", alice);
    EXPECT_TRUE(planned("10", {IndicesWanted{{0}}, {}, {}, false}).attach[0].occupied);
    EXPECT_FALSE(planned("10", {IndicesWanted{{1}}, {}, {}, false}).attach[0].occupied);
}

TEST_F(UnaccountedMemory, LeavesForSharesWhatTheDriverHasFree) {
    sampleTwice(gibibytes(37));
    EXPECT_EQ(ledger.device(0).availableMemory(), gibibytes(42)) << "80 - 1 reserved - 37";
    activate("10", alice);
    const auto share = [](Bytes amount) {
        return AttachRequest{IndicesWanted{{0}}, {}, amount, false};
    };
    EXPECT_EQ(refusal(share(gibibytes(43))),
              "Device 0 is not available: 37 GiB in use by no process");
    attach("10", share(gibibytes(40)));
    EXPECT_EQ(ledger.device(0).availableMemory(), gibibytes(2));
    sample(gibibytes(37), gibibytes(40));
    EXPECT_EQ(ledger.device(0).availableMemory(), gibibytes(2)) << "the share is in use now";
}

TEST_F(UnaccountedMemory, LeavesForSharesNoMemoryThatAForeignProcessUses) {
    sampleTwice(gibibytes(37), gibibytes(20));
    EXPECT_EQ(ledger.device(0).availableMemory(), gibibytes(22));
}

TEST_F(UnaccountedMemory, BoundsTheSharesOfChildrenByTheirParentsShare) {
    sampleTwice(gibibytes(37));
    activate("10", alice);
    attach("10", {IndicesWanted{{0}}, {}, gibibytes(30), false});
    const core::DeviceTable own(ledger.devices(), ledger.get("10"));
    EXPECT_EQ(own.find(0)->availableMemory(), gibibytes(30));
}

TEST_F(UnaccountedMemory, IsReportedWhenItAppearsAndWhenItGoes) {
    sample(gibibytes(37));
    emitted.clear();
    sample(gibibytes(37));
    ASSERT_EQ(emittedOf<core::DeviceChanged>().size(), 1U);
    EXPECT_EQ(emittedOf<core::DeviceChanged>()[0].field, core::DeviceField::OutsideUse);
    sample(gibibytes(37));
    EXPECT_EQ(emittedOf<core::DeviceChanged>().size(), 1U) << "nothing changed";
    sample(Bytes{0});
    EXPECT_EQ(emittedOf<core::DeviceChanged>().size(), 2U);
}

TEST_F(UnaccountedMemory, OfADeviceWithoutAMemoryReadingIsNotKnown) {
    core::Observation observation = gpus(1);
    observation.devices[0].hasUnifiedMemory = true;
    ledger.observed(observation);
    ledger.observed(observation);
    EXPECT_TRUE(ledger.device(0).isFree());
    EXPECT_EQ(ledger.device(0).availableMemory(), gigabytes(16)) << "shares are counted";
}

TEST_F(UnaccountedMemory, IsWrittenAsPeopleReadIt) {
    EXPECT_EQ(core::describeUnaccounted(gibibytes(37)), "37 GiB in use by no process");
    EXPECT_EQ(core::describeUnaccounted(Bytes{1'610'612'736}), "1.5 GiB in use by no process");
    EXPECT_EQ(core::describeUnaccounted(Bytes{10'684'000'000}), "10 GiB in use by no process");
}

TEST_F(UnaccountedMemory, DoesNotCountAsFreeInARefusal) {
    sampleTwice(gibibytes(37));
    activate("10", alice);
    activate("20", bob);
    attachIndices("20", {1});
    EXPECT_EQ(refusal({CountWanted{2}, {}, {}, false}),
              "No available devices: 2 more requested, 0 free, 1 in use outside genv or unhealthy");
}

// The one meaning of "free".
class FreeDevices : public LedgerTest {};

TEST_F(FreeDevices, AreThoseThatNobodyUsesAndThatWork) {
    core::Observation observation = gpus(6);
    observation.devices[2].health = {Health::State::Lost, 0};
    observation.devices[3].health = {Health::State::Xid, 79};
    observation.processes = {computeProcess(500, bob, {"GPU-1"})};
    ledger.observed(observation);
    activate("10", alice);
    attachIndices("10", {0});
    core::SlurmDevices slurms;
    slurms.uuids = {"GPU-4"};
    ledger.reserve(slurms);
    Indices free;
    for (const auto& [index, device] : ledger.devices().byIndex()) {
        if (device.isFree())
            free.push_back(index);
    }
    EXPECT_EQ(free, Indices{5}) << "not held, foreign process, lost, XID, Slurm's";
}

TEST_F(FreeDevices, AreReportedWhenAForeignProcessComesOrGoes) {
    haveGpus(1);
    emitted.clear();
    core::Observation observation = gpus(1);
    observation.processes = {computeProcess(500, bob, {"GPU-0"})};
    ledger.observed(observation);
    ASSERT_EQ(emittedOf<core::DeviceChanged>().size(), 1U);
    EXPECT_EQ(emittedOf<core::DeviceChanged>()[0].field, core::DeviceField::OutsideUse);
    ledger.observed(observation);
    EXPECT_EQ(emittedOf<core::DeviceChanged>().size(), 1U);
    haveGpus(1);
    EXPECT_EQ(emittedOf<core::DeviceChanged>().size(), 2U);
}

} // namespace
} // namespace genv::tests
