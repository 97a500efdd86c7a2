// SPDX-License-Identifier: LGPL-2.1-or-later
// The device nodes that a process must be able to open to use a device. The sample has the nodes
// that the driver reports, or none if the report is incomplete.
#include "service/gpu/nvml_nodes.hpp"
#include "tests/service/gpu/nvml_fixture.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>

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

using Named = std::map<core::DeviceNode, std::string>;

Named namesIn(const core::GpuSample& sample) {
    Named names;
    for (const core::DriverNode& node : sample.nodes)
        names[node.node] = node.name + (node.isOpen ? ", open" : "") + node.pciAddress;
    return names;
}

TEST_F(NodesOfDevices, HaveNamesAndMigsMonitorAndConfigurationGiveAccessToNoDevice) {
    writeProc("driver/nvidia/capabilities/mig/config", "DeviceFileMinor: 1\nDeviceFileMode: 256\n");
    writeProc("driver/nvidia/capabilities/fabric-imex-mgmt",
              "DeviceFileMinor: 4323\nDeviceFileMode: 256\n");
    writeProc("driver/nvidia/capabilities/mig/monitor",
              "DeviceFileMinor: 2\nDeviceFileMode: 292\n");
    json device = gpu(0, {{"minor", 3}});
    device["mig"] = {migInstance("MIG-a", 1, 0)};
    become({{"devices", {device, gpu(1, {{"minor", 0}}), gpu(2, {{"minor", 1}})}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(namesIn(gpus.sample()), (Named{{{195, 0}, "GPU 1"},
                                             {{195, 1}, "GPU 2"},
                                             {{195, 3}, "GPU 0"},
                                             {{195, 254}, "nvidia-modeset"},
                                             {{195, 255}, "nvidiactl"},
                                             {{235, 1}, "MIG configuration, open"},
                                             {{235, 2}, "MIG monitor, open"},
                                             {{235, 12}, "MIG instance 1 of GPU 0"},
                                             {{235, 13}, "MIG instance 1/0 of GPU 0"},
                                             {{235, 4323}, "fabric management, open"}}));
    EXPECT_EQ(service::NvmlNodes(folder() / "proc").forEverybody(),
              (Nodes{{235, 4323}, {235, 1}, {235, 2}}));
}

// A machine's /sys with the DRM nodes of a display of another maker and of two GPUs.
class RenderNodes : public NodesOfDevices {
  protected:
    RenderNodes() {
        addNode("card0", "226:0", "0000:00:02.0", "0x8086", "i915");
        addNode("renderD128", "226:128", "0000:00:02.0", "0x8086", "i915");
        addNode("card1", "226:1", "0000:65:00.0", "0x10de", "nvidia");
        addNode("renderD129", "226:129", "0000:65:00.0", "0x10de", "nvidia");
        addNode("renderD130", "226:130", "0000:66:00.0", "0x10de", "nouveau");
        addNode("card1-DP-1", "226:7", "0000:65:00.0", "0x10de", "nvidia");
        addNode("version", "226:8", "0000:65:00.0", "0x10de", "nvidia");
    }
    void addNode(const std::string& name, const std::string& dev, const std::string& pci,
                 const std::string& vendor, const std::string& driver) const {
        namespace fs = std::filesystem;
        const fs::path device = sys() / "devices" / pci;
        fs::create_directories(device);
        fs::create_directories(sys() / "class/drm" / name);
        write(device / "vendor", vendor);
        write(sys() / "class/drm" / name / "dev", dev);
        fs::create_symlink(device, sys() / "class/drm" / name / "device");
        if (!fs::is_symlink(device / "driver"))
            fs::create_symlink("/nowhere/drivers/" + driver, device / "driver");
    }
    static void write(const std::filesystem::path& file, const std::string& text) {
        std::ofstream(file) << text << '\n';
    }
    [[nodiscard]] std::filesystem::path sys() const { return folder() / "sys"; }

    Named rendering() const {
        service::NvmlGpus gpus(settings());
        Named names = namesIn(gpus.sample());
        std::erase_if(names, [](const auto& entry) { return entry.first.major != 226; });
        return names;
    }
};

TEST_F(RenderNodes, AreThoseOfGpusWithTheDriverByTheirPciAddress) {
    become({{"devices", {gpu(0, {{"pci", "00000000:65:00.0"}})}}});
    EXPECT_EQ(rendering(), (Named{{{226, 1}, "card1 of GPU 00000:65:00.0"},
                                  {{226, 129}, "renderD129 of GPU 00000:65:00.0"}}));
    become({{"devices", {gpu(0, {{"pci", "00000000:12:00.0"}})}}});
    EXPECT_EQ(rendering(),
              (Named{{{226, 1}, "card10000:65:00.0"}, {{226, 129}, "renderD1290000:65:00.0"}}))
        << "a GPU that NVML does not list";
}

TEST_F(RenderNodes, AreNoneWhereAFileMakesNoSense) {
    become({{"devices", {gpu(0)}}});
    for (const char* text : {"", "226", "226:", "226:129:1", "x:1", "4096:1", "226:1048576"}) {
        write(sys() / "class/drm/renderD129/dev", text);
        EXPECT_EQ(rendering().size(), 1U) << text;
    }
    write(sys() / "devices/0000:65:00.0/vendor", "0x1002");
    EXPECT_EQ(rendering().size(), 0U);
    std::filesystem::remove_all(sys());
    EXPECT_EQ(rendering().size(), 0U);
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
