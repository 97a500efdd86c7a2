// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices appear, vanish, move and fail. A holding follows the device and not its index.
#include "core/devices/unwell_devices.hpp"
#include "core/model/visible_devices.hpp"
#include "tests/core/ledger_fixture.hpp"

namespace genv::tests {
namespace {

using core::Health;
using Indices = std::vector<core::DeviceIndex>;

class Devices : public LedgerTest {};

TEST_F(Devices, AppearWhileRunning) {
    haveGpus(1);
    haveGpus(3);
    EXPECT_EQ(emittedOf<core::DeviceAdded>().size(), 3U);
    EXPECT_EQ(ledger.devices().byIndex().size(), 3U);
}

TEST_F(Devices, AreDetachedWhenAWorkingDriverOmitsThem) {
    haveGpus(2);
    activate("10", alice);
    attachCount("10", 2);
    haveGpus(1);
    EXPECT_EQ(devicesOf("10"), Indices{0});
    ASSERT_EQ(emittedOf<core::Detached>().size(), 1U);
    EXPECT_EQ(emittedOf<core::Detached>()[0].cause.reason.text(), "device-lost");
    EXPECT_EQ(emittedOf<core::DeviceRemoved>()[0].index, 1U);
}

TEST_F(Devices, StayAttachedWhileTheDriverDoesNotAnswer) {
    haveGpus(2);
    activate("10", alice);
    attachCount("10", 2);
    ledger.driverFailed();
    core::Observation none;
    none.noDriver = "the driver is not loaded";
    ledger.observed(none);
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1}));
    EXPECT_EQ(core::toString(ledger.device(0).health), "stale");
    haveGpus(2);
    EXPECT_EQ(core::toString(ledger.device(0).health), "ok");
}

TEST_F(Devices, AreDetachedAndKeptInTheListWhenTheDriverSaysTheyAreLost) {
    haveGpus(2);
    activate("10", alice);
    attachCount("10", 2);
    core::Observation observation = gpus(2);
    observation.devices[1].health = {Health::State::Lost, 0};
    ledger.observed(observation);
    EXPECT_EQ(devicesOf("10"), Indices{0});
    EXPECT_EQ(core::toString(ledger.device(1).health), "lost");
}

TEST_F(Devices, KeepTheirHoldersWhenIndicesChangePlaces) {
    haveGpus(2);
    activate("10", alice);
    activate("20", bob);
    attachIndices("10", {0});
    attachIndices("20", {1});
    core::Observation swapped = gpus(2);
    std::swap(swapped.devices[0].facts.index, swapped.devices[1].facts.index);
    emitted.clear();
    ledger.observed(swapped);
    EXPECT_EQ(devicesOf("10"), Indices{1});
    EXPECT_EQ(devicesOf("20"), Indices{0});
    EXPECT_EQ(ledger.device(1).holders.at(0).environment, "10");
    EXPECT_TRUE(emittedOf<core::Detached>().empty()) << "nobody lost anything";
    EXPECT_EQ(emittedOf<core::DeviceRemoved>().size(), 2U);
    EXPECT_EQ(emittedOf<core::DeviceAdded>().size(), 2U);
    EXPECT_EQ(emittedOf<core::EnvironmentChanged>().size(), 4U)
        << "their indices changed, in Devices and in Attached";
    EXPECT_NE(store.documents.at("10").find("\"index\":1"), std::string::npos);
}

TEST_F(Devices, TellAnErrorOfTheDriverOnce) {
    haveGpus(1);
    core::Observation observation = gpus(1);
    observation.devices[0].health = {Health::State::Xid, 79};
    emitted.clear();
    ledger.observed(observation);
    ledger.observed(observation);
    ASSERT_EQ(emitted.size(), 1U);
    EXPECT_EQ(core::toString(ledger.device(0).health), "xid-79");
    for (const std::uint32_t xid : {13U, 31U, 43U, 45U, 68U, 109U})
        EXPECT_TRUE(core::isApplicationXid(xid));
    EXPECT_FALSE(core::isApplicationXid(79));
}

TEST_F(Devices, KeepReadingsAndTellNothingOfThem) {
    haveGpus(1);
    core::Observation observation = gpus(1);
    observation.devices[0].reading.usedMemory = gigabytes(3);
    observation.takenAt = clock.wallNow();
    emitted.clear();
    ledger.observed(observation);
    EXPECT_TRUE(emitted.empty());
    EXPECT_EQ(ledger.device(0).reading.usedMemory, gigabytes(3));
    EXPECT_EQ(ledger.device(0).sampledAt, clock.wallNow());
}

TEST_F(Devices, NamedTwiceByADriverCountOnce) {
    core::Observation observation = gpus(2);
    observation.devices.push_back(sampleOf(gpuFacts(0)));
    observation.devices.push_back(observation.devices[1]);
    observation.devices.back().facts.uuid = "GPU-other";
    ledger.observed(observation);
    EXPECT_EQ(ledger.devices().byIndex().size(), 2U);
}

TEST_F(Devices, AreOccupiedByProcessesThatBelongToNoneOfTheirEnvironments) {
    haveGpus(2);
    activate("10", alice);
    attachIndices("10", {0});
    core::Observation observation = gpus(2);
    core::ObservedProcess own = computeProcess(500, alice, {"GPU-0"});
    own.ancestors = {{10, 7}};
    core::ObservedProcess astray = computeProcess(501, alice, {"GPU-1"});
    astray.ancestors = {{10, 7}};
    observation.processes = {own};
    ledger.observed(observation);
    EXPECT_FALSE(ledger.device(0).occupied);
    observation.processes = {own, astray};
    ledger.observed(observation);
    EXPECT_TRUE(ledger.device(1).occupied);
    processes.exit(10);
    ledger.observed(observation);
    EXPECT_TRUE(ledger.device(0).occupied) << "it outlived its environment";
}

TEST_F(Devices, AreRememberedAsTheDriverDescribesThemNow) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    core::Observation changed = gpus(1);
    changed.devices[0].facts.model = "NVIDIA A100 80GB";
    changed.devices[0].facts.totalMemory = gigabytes(80);
    emitted.clear();
    ledger.observed(changed);
    std::vector<core::DeviceField> fields;
    for (const core::DeviceChanged& change : emittedOf<core::DeviceChanged>())
        fields.push_back(change.field);
    EXPECT_EQ(fields, (std::vector<core::DeviceField>{core::DeviceField::Model,
                                                      core::DeviceField::TotalMemory}));
    EXPECT_TRUE(emittedOf<core::Detached>().empty());
    EXPECT_EQ(ledger.get("10").attachments[0].device.model, "NVIDIA A100 80GB");
    EXPECT_NE(store.documents.at("10").find("A100 80GB"), std::string::npos)
        << "a restart while the driver hangs knows it, too";
}

TEST_F(Devices, ThatAreLostAreNoRoomForAnybody) {
    haveGpus(1);
    EXPECT_TRUE(ledger.device(0).isAvailable(std::nullopt));
    EXPECT_TRUE(ledger.device(0).isAvailable(gigabytes(1)));
    core::Observation observation = gpus(1);
    observation.devices[0].health = {Health::State::Lost, 0};
    ledger.observed(observation);
    EXPECT_FALSE(ledger.device(0).isAvailable(std::nullopt));
    EXPECT_FALSE(ledger.device(0).isAvailable(gigabytes(1)));
}

TEST_F(Devices, AreNamedToCudaByIndexOrWhereThereAreInstancesByUuid) {
    EXPECT_EQ(core::visibleDevices({}, false), "-1") << "which hides every device";
    EXPECT_EQ(core::visibleDevices({}, true), "-1");
    const std::vector<core::CudaVisibleDevice> attached{{10, "GPU-b"}, {2, "GPU-a"}};
    EXPECT_EQ(core::visibleDevices(attached, false), "2,10");
    EXPECT_EQ(core::visibleDevices(attached, true), "GPU-a,GPU-b");
    EXPECT_TRUE(core::isInstanceUuid("MIG-1"));
    EXPECT_FALSE(core::isInstanceUuid("GPU-1"));
    EXPECT_FALSE(core::isInstanceUuid("MIG"));
}

TEST_F(Devices, ThatAreWellAreNoNewsUntilTheyWereIll) {
    haveGpus(1);
    core::UnwellDevices unwell;
    core::TableDevice device = ledger.device(0);
    EXPECT_FALSE(unwell.isNews(device)) << "the first answer after a start";
    device.health = {Health::State::Xid, 79};
    EXPECT_TRUE(unwell.isNews(device));
    device.health = {};
    EXPECT_TRUE(unwell.isNews(device));
    EXPECT_FALSE(unwell.isNews(device));
}

} // namespace
} // namespace genv::tests
