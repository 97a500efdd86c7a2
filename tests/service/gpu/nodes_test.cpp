// SPDX-License-Identifier: LGPL-2.1-or-later
// The device nodes that a process must be able to open to use a device. The sample has the nodes
// that the driver reports, or none if the report is incomplete.
#include "tests/service/gpu/nvml_fixture.hpp"

using namespace genv;
using namespace genv::tests;

namespace {

using Nodes = std::vector<core::DeviceNode>;

class NodesOfDevices : public NvmlTest {
  protected:
    NodesOfDevices() {
        writeProc("devices", "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n"
                             "234 nvidia-caps-imex-channels\n235 nvidia-caps\n510 nvidia-uvm\n\n"
                             "Block devices:\n  7 loop\n236 nvidia-caps\n");
        writeAccess("gi1/access", 12);
        writeAccess("gi1/ci0/access", 13);
    }

    void writeAccess(const std::string& name, unsigned minor) const {
        writeProc(
            "driver/nvidia/capabilities/gpu3/mig/" + name,
            fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor));
    }

    /// Returns the nodes of the only device: GPU 3 by its minor number, or its instance gi1/ci0.
    Nodes sampled(bool isMig, const json& faults = json::object()) const {
        json device = gpu(0, {{"minor", 3}});
        if (isMig)
            device["mig"] = {migInstance("MIG-a", 1, 0)};
        become({{"devices", {device}}, {"faults", faults}});
        service::NvmlGpus gpus(settings());
        const core::GpuSample sample = gpus.sample();
        EXPECT_EQ(sample.devices.size(), 1U);
        return sample.devices.at(0).nodes;
    }
};

TEST_F(NodesOfDevices, OfAGpuAreTheOneWithItsMinorNumber) {
    become({{"devices", {gpu(0, {{"minor", 1}}), gpu(1, {{"minor", 0}})}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(deviceOf(sample, gpuUuid(0)).nodes, (Nodes{{195, 1}}));
    EXPECT_EQ(deviceOf(sample, gpuUuid(1)).nodes, (Nodes{{195, 0}}));
}

TEST_F(NodesOfDevices, OfAMigInstanceAreItsGpusAndThoseOfItsTwoCapabilities) {
    EXPECT_EQ(sampled(true), (Nodes{{195, 3}, {235, 12}, {235, 13}}));
}

TEST_F(NodesOfDevices, InstancesOfOneGpuShareItsNodeAndNoOther) {
    writeAccess("gi2/access", 21);
    writeAccess("gi2/ci1/access", 23);
    become({{"devices",
             {gpu(0, {{"minor", 3},
                      {"mig", {migInstance("MIG-a", 1, 0), migInstance("MIG-b", 2, 1)}}})}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(deviceOf(sample, "MIG-a").nodes, (Nodes{{195, 3}, {235, 12}, {235, 13}}));
    EXPECT_EQ(deviceOf(sample, "MIG-b").nodes, (Nodes{{195, 3}, {235, 21}, {235, 23}}));
}

TEST_F(NodesOfDevices, AnOldDriverThatDoesNotTellMinorNumbersTellsNone) {
    const json missing{{"nvmlDeviceGetMinorNumber", 13}};
    EXPECT_EQ(sampled(false, missing), Nodes{});
    EXPECT_EQ(sampled(true, missing), Nodes{});
}

TEST_F(NodesOfDevices, ADriverThatDoesNotTellWhichInstanceTellsNone) {
    EXPECT_EQ(sampled(true, {{"nvmlDeviceGetGpuInstanceId", 13}}), Nodes{});
    EXPECT_EQ(sampled(true, {{"nvmlDeviceGetComputeInstanceId", 13}}), Nodes{});
    EXPECT_EQ(sampled(false, {{"nvmlDeviceGetGpuInstanceId", 13}}), (Nodes{{195, 3}}));
}

TEST_F(NodesOfDevices, MinorNumbersThatAreNoGpusAreNone) {
    for (const unsigned minor : {254U, 255U, 256U, 4'000'000'000U}) {
        become({{"devices", {gpu(0, {{"minor", minor}})}}});
        service::NvmlGpus gpus(settings());
        EXPECT_EQ(gpus.sample().devices.at(0).nodes, Nodes{}) << minor;
    }
}

TEST_F(NodesOfDevices, OfAMigInstanceAreNoneWhereAFileIsMissing) {
    for (const char* file : {"devices", "driver/nvidia/capabilities/gpu3/mig/gi1/access",
                             "driver/nvidia/capabilities/gpu3/mig/gi1/ci0/access"}) {
        const auto path = folder() / "proc" / file;
        std::filesystem::rename(path, folder() / "away");
        EXPECT_EQ(sampled(true), Nodes{}) << file;
        std::filesystem::rename(folder() / "away", path);
        EXPECT_EQ(sampled(true).size(), 3U) << file;
    }
}

TEST_F(NodesOfDevices, OfAMigInstanceAreNoneWhereAFileMakesNoSense) {
    for (const char* text :
         {"", "DeviceFileMinor: \n", "DeviceFileMinor: x\n", "DeviceFileMinor: -1\n",
          "DeviceFileMinor: 1048576\n", "DeviceFileMinor: 12 13\n", "DeviceFileMode: 12\n"}) {
        writeProc("driver/nvidia/capabilities/gpu3/mig/gi1/access", text);
        EXPECT_EQ(sampled(true), Nodes{}) << text;
    }
    writeAccess("gi1/access", 12);
    for (const char* text :
         {"", "Character devices:\n", "Character devices:\nx nvidia-caps\n",
          "Character devices:\n4096 nvidia-caps\n", "Character devices:\nnvidia-caps\n",
          "Character devices:\n235 nvidia-caps-imex-channels\n",
          "Block devices:\n235 nvidia-caps\n"}) {
        writeProc("devices", text);
        EXPECT_EQ(sampled(true), Nodes{}) << text;
        EXPECT_EQ(sampled(false), (Nodes{{195, 3}})) << text;
    }
}

TEST_F(NodesOfDevices, ADeviceThatFailedKeepsThem) {
    json device = gpu(0, {{"minor", 1}});
    become({{"devices", {device}}});
    service::NvmlGpus gpus(settings());
    gpus.sample();
    device["lost"] = true;
    become({{"devices", {device}}});
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(sample.devices.at(0).health.state, core::Health::State::Lost);
    EXPECT_EQ(sample.devices.at(0).nodes, (Nodes{{195, 1}}));
}

} // namespace
