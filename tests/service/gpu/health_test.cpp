// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that are lost, that do not answer, and that had XIDs.
#include "tests/service/gpu/nvml_fixture.hpp"

using namespace genv;
using namespace genv::tests;
using State = core::Health::State;

namespace {

using Strings = std::vector<std::string>;

class DeviceHealth : public NvmlTest {
  protected:
    DeviceHealth() { listGpus({"0000:10:00.0", "0000:11:00.0"}); }

    /// Returns two healthy GPUs, one of them in MIG mode, and these XIDs.
    static json machine(const json& xids = json::array()) {
        return {
            {"devices",
             {gpu(0), gpu(1, {{"mig", {migInstance("MIG-a", 1, 0), migInstance("MIG-b", 2, 0)}}})}},
            {"xids", xids}};
    }

    static std::string healthOf(const core::GpuSample& sample, const std::string& uuid) {
        return core::toString(deviceOf(sample, uuid).health);
    }

    void expectHealth(core::Gpus& gpus, const char* gpu0, const char* migA, const char* migB) {
        const core::GpuSample sample = gpus.sample();
        EXPECT_EQ(healthOf(sample, gpuUuid(0)), gpu0);
        EXPECT_EQ(healthOf(sample, "MIG-a"), migA);
        EXPECT_EQ(healthOf(sample, "MIG-b"), migB);
    }
};

TEST_F(DeviceHealth, ALostGpuIsListedAsItWasWithoutReadings) {
    become(machine());
    service::NvmlGpus gpus(settings());
    const core::DeviceFacts before = deviceOf(gpus.sample(), gpuUuid(0)).facts;
    json changed = machine();
    changed["devices"][0]["lost"] = true;
    become(changed);
    const core::GpuSample sample = gpus.sample();
    const core::DeviceSample& lost = deviceOf(sample, gpuUuid(0));
    EXPECT_EQ(lost.facts, before);
    EXPECT_EQ(lost.reading, core::DeviceReading{});
    EXPECT_EQ(core::toString(lost.health), "lost");
    EXPECT_EQ(healthOf(sample, "MIG-a"), "ok");
    become(machine());
    expectHealth(gpus, "ok", "ok", "ok");
}

TEST_F(DeviceHealth, InstancesOfALostGpuAreLostAtTheirIndices) {
    json changed = machine();
    changed["devices"].push_back(gpu(2, {{"mig", {migInstance("MIG-c", 1, 0)}}}));
    become(changed);
    service::NvmlGpus gpus(settings());
    const core::GpuSample before = gpus.sample();
    changed["devices"][1]["lost"] = true;
    become(changed);
    const core::GpuSample after = gpus.sample();
    EXPECT_EQ(uuidsOf(after), uuidsOf(before));
    for (const char* uuid : {"MIG-a", "MIG-b", "MIG-c"})
        EXPECT_EQ(deviceOf(after, uuid).facts, deviceOf(before, uuid).facts);
    EXPECT_EQ(healthOf(after, "MIG-b"), "lost");
    EXPECT_EQ(healthOf(after, "MIG-c"), "ok");
}

TEST_F(DeviceHealth, ALostGpuIsRememberedOverANewHelper) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    become({{"faults", {{"*", "crash"}}}});
    errorOf(gpus);
    json changed = machine();
    changed["devices"][0]["lost"] = true;
    become(changed);
    expectHealth(gpus, "lost", "ok", "ok");
}

TEST_F(DeviceHealth, AGpuThatNeedsAResetIsLost) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    json changed = machine();
    changed["devices"][0]["faults"] = {{"nvmlDeviceGetPowerUsage", 16}};
    become(changed);
    expectHealth(gpus, "lost", "ok", "ok");
}

TEST_F(DeviceHealth, AGpuWhoseHandleTheDriverCannotGiveIsStaleNotLost) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    json changed = machine();
    changed["devices"][0]["faults"] = {{"nvmlDeviceGetHandleByIndex_v2", 999}};
    become(changed);
    expectHealth(gpus, "stale", "ok", "ok");
}

TEST_F(DeviceHealth, AGpuThatDoesNotSayWhetherItIsInMigModeKeepsItsInstances) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    json changed = machine();
    changed["devices"][1]["faults"] = {{"nvmlDeviceGetMigMode", 999}};
    become(changed);
    expectHealth(gpus, "ok", "stale", "stale");
}

TEST_F(DeviceHealth, ALostGpuThatWasNeverSeenWorkingIsNotListed) {
    json changed = machine();
    changed["devices"][0]["lost"] = true;
    become(changed);
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(uuidsOf(gpus.sample()), (Strings{"MIG-a", "MIG-b"}));
}

TEST_F(DeviceHealth, AnXidIsToldOfItsGpuAndStays) {
    become(machine());
    service::NvmlGpus gpus(settings());
    expectHealth(gpus, "ok", "ok", "ok");
    become(machine({{{"id", 1}, {"device", gpuUuid(0)}, {"xid", 79}}}));
    expectHealth(gpus, "xid-79", "ok", "ok");
    expectHealth(gpus, "xid-79", "ok", "ok");
}

TEST_F(DeviceHealth, AnXidThatAnApplicationCausesIsIgnored) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    json xids = json::array();
    for (const unsigned xid : {13U, 31U, 43U, 45U, 68U, 109U})
        xids.push_back({{"id", xid}, {"device", gpuUuid(0)}, {"xid", xid}});
    become(machine(xids));
    expectHealth(gpus, "ok", "ok", "ok");
    xids.push_back({{"id", 200}, {"device", gpuUuid(0)}, {"xid", 48}});
    xids.push_back({{"id", 201}, {"device", gpuUuid(0)}, {"xid", 45}});
    become(machine(xids));
    expectHealth(gpus, "xid-48", "ok", "ok");
}

TEST_F(DeviceHealth, AnXidOfAMigInstanceIsItsOwn) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    become(machine({{{"id", 1}, {"device", gpuUuid(1)}, {"xid", 94}, {"gi", 2}, {"ci", 0}}}));
    expectHealth(gpus, "ok", "ok", "xid-94");
}

TEST_F(DeviceHealth, AnXidOfAGpuInMigModeIsOfAllItsInstances) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    become(machine({{{"id", 1}, {"device", gpuUuid(1)}, {"xid", 62}}}));
    expectHealth(gpus, "ok", "xid-62", "xid-62");
}

TEST_F(DeviceHealth, XidsReachAnOldLibraryToo) {
    useLibraryFrom(FAKE_NVML_OLD_FOLDER);
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    gpus.sample();
    become({{"devices", {gpu(0)}}, {"xids", {{{"id", 1}, {"device", gpuUuid(0)}, {"xid", 79}}}}});
    EXPECT_EQ(healthOf(gpus.sample(), gpuUuid(0)), "xid-79");
}

TEST_F(DeviceHealth, AnXidIsRememberedOverANewHelper) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    const json xids{{{"id", 1}, {"device", gpuUuid(0)}, {"xid", 79}}};
    become(machine(xids));
    gpus.sample();
    become({{"faults", {{"*", "crash"}}}});
    errorOf(gpus);
    become(machine(xids));
    expectHealth(gpus, "xid-79", "ok", "ok");
}

TEST_F(DeviceHealth, AnXidIsForgottenWithItsDevice) {
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    const json xids{{{"id", 1}, {"device", gpuUuid(0)}, {"xid", 79}}};
    become(machine(xids));
    gpus.sample();
    json without = machine(xids);
    without["devices"].erase(0);
    become(without);
    listGpus({"0000:11:00.0"});
    EXPECT_EQ(uuidsOf(gpus.sample()), (Strings{"MIG-a", "MIG-b"}));
    become(machine(xids));
    listGpus({"0000:10:00.0", "0000:11:00.0"});
    expectHealth(gpus, "ok", "ok", "ok");
}

TEST_F(DeviceHealth, AnXidIsNotMissedWhereEachSampleStartsNvmlAnew) {
    std::filesystem::remove_all(folder() / "gpus");
    become(machine());
    service::NvmlGpus gpus(settings());
    gpus.sample();
    become(machine({{{"id", 1}, {"device", gpuUuid(0)}, {"xid", 79}}}));
    expectHealth(gpus, "xid-79", "ok", "ok");
}

TEST_F(DeviceHealth, ADriverWithoutEventsIsSampledAllTheSame) {
    json changed = machine();
    changed["faults"] = {{"nvmlEventSetCreate", 3}};
    become(changed);
    service::NvmlGpus gpus(settings());
    expectHealth(gpus, "ok", "ok", "ok");
}

} // namespace
