// SPDX-License-Identifier: LGPL-2.1-or-later
// Simulated GPUs: the sample agrees with the variables, and invalid variables are refused.
#include "core/base/error.hpp"
#include "service/gpu/nvml_protocol.hpp"
#include "service/gpu/simulated_gpus.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

using namespace genv;
using service::SimulatedGpus;

namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string>;

constexpr const char* nameVariable = "GENV_MOCK_COMPUTE_APPS_PROCESS_NAME";

SimulatedGpus::Variables getter(Variables variables) {
    return
        [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found != variables.end() ? std::optional(found->second) : std::nullopt;
        };
}

core::GpuSample sample(const Variables& variables, const fs::path& proc = "/nowhere") {
    return SimulatedGpus(getter(variables), proc).sample();
}

std::string refusal(const Variables& variables) {
    try {
        SimulatedGpus gpus(getter(variables));
    } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::InvalidArgs);
        return error.what();
    }
    return {};
}

TEST(SimulatedGpus, AreTwoOfTheDocumentedKindUnlessToldOtherwise) {
    const core::GpuSample found = sample({});
    ASSERT_EQ(found.devices.size(), 2U);
    const core::DeviceSample& device = found.devices[1];
    EXPECT_EQ(device.facts.index, 1U);
    EXPECT_EQ(device.facts.kind, core::DeviceKind::Gpu);
    EXPECT_EQ(device.facts.model, "NVIDIA GeForce RTX 2080 Ti");
    EXPECT_EQ(device.facts.totalMemory, core::Bytes{16'000'000'000});
    EXPECT_EQ(device.reading.usedMemory, core::Bytes{10ULL << 20U});
    EXPECT_EQ(device.reading.utilizationPercent, 93U);
    EXPECT_EQ(device.reading.temperatureCelsius, 38);
    EXPECT_EQ(device.reading.powerMilliwatts, std::nullopt);
    EXPECT_EQ(device.reading.powerLimitMilliwatts, 250'000U);
    EXPECT_EQ(device.pciAddress, "0000:02:00.0");
    EXPECT_EQ(device.health, core::Health{});
    EXPECT_EQ(found.noDriver, "");
    EXPECT_EQ(found.driverVersion, "simulated");
}

TEST(SimulatedGpus, AreWhatTheVariablesSay) {
    const core::GpuSample found = sample({{"GENV_MOCK_DEVICE_COUNT", "1"},
                                          {"GENV_DEVICES", "7"},
                                          {"GENV_MOCK_DEVICE_NAME", "NVIDIA H100"},
                                          {"GENV_MOCK_DEVICE_TOTAL_MEMORY", "80gi"},
                                          {"GENV_MOCK_DEVICE_USED_MEMORY", "1g"},
                                          {"GENV_MOCK_DEVICE_UTILIZATION", "0"},
                                          {"GENV_MOCK_DEVICE_TEMPERATURE", "71"}});
    ASSERT_EQ(found.devices.size(), 1U);
    EXPECT_EQ(found.devices[0].facts.model, "NVIDIA H100");
    EXPECT_EQ(found.devices[0].facts.totalMemory, core::Bytes{80ULL << 30U});
    EXPECT_EQ(found.devices[0].reading.usedMemory, core::Bytes{1'000'000'000});
    EXPECT_EQ(found.devices[0].reading.utilizationPercent, 0U);
    EXPECT_EQ(found.devices[0].reading.temperatureCelsius, 71);
}

TEST(SimulatedGpus, HaveMemoryThatNoProcessAccountsForWhereToldSo) {
    const core::GpuSample found = sample({{"GENV_MOCK_DEVICE_COUNT", "3"},
                                          {"GENV_MOCK_DEVICE_TOTAL_MEMORY", "16g"},
                                          {"GENV_MOCK_DEVICE_USED_MEMORY", "1g"},
                                          {"GENV_MOCK_DEVICE_UNACCOUNTED_MEMORY", "0,4g"}});
    EXPECT_EQ(found.devices[0].memory.unaccounted, core::Bytes{0});
    EXPECT_EQ(found.devices[1].memory.unaccounted, core::Bytes{4'000'000'000});
    EXPECT_EQ(found.devices[1].reading.usedMemory, core::Bytes{5'000'000'000});
    EXPECT_EQ(found.devices[1].memory.free, core::Bytes{11'000'000'000});
    EXPECT_EQ(found.devices[2].memory, core::MemoryBalance{});
    for (const char* text : {"", "4g,", "4g,4g,4g,4g", "-1", "much"})
        EXPECT_NE(refusal({{"GENV_MOCK_DEVICE_COUNT", "3"},
                           {"GENV_MOCK_DEVICE_UNACCOUNTED_MEMORY", text}}),
                  "")
            << text;
}

TEST(SimulatedGpus, ShareTheMachinesMemoryWhereToldSo) {
    const core::GpuSample found = sample({{"GENV_MOCK_DEVICE_TOTAL_MEMORY", "unified"}});
    EXPECT_TRUE(found.devices[0].hasUnifiedMemory);
    EXPECT_EQ(found.devices[0].reading.usedMemory, std::nullopt);
}

TEST(SimulatedGpus, AreAskedForByEitherNameOfTheirCount) {
    EXPECT_FALSE(SimulatedGpus::areAskedFor(getter({{"GENV_MOCK_DEVICE_NAME", "x"}})));
    EXPECT_TRUE(SimulatedGpus::areAskedFor(getter({{"GENV_MOCK_DEVICE_COUNT", "4"}})));
    EXPECT_TRUE(SimulatedGpus::areAskedFor(getter({{"GENV_DEVICES", "4"}})));
    EXPECT_EQ(sample({{"GENV_DEVICES", "4"}}).devices.size(), 4U);
}

TEST(SimulatedGpus, HaveUuidsOfTheirOwnThatStayTheSame) {
    std::set<std::string> uuids;
    std::set<std::string> addresses;
    const core::GpuSample found = sample({{"GENV_MOCK_DEVICE_COUNT", "1024"}});
    for (const core::DeviceSample& device : found.devices) {
        EXPECT_TRUE(service::isDeviceUuid(device.facts.uuid));
        EXPECT_EQ(device.facts.uuid.size(),
                  std::string("GPU-01234567-0123-0123-0123-0123456789ab").size());
        uuids.insert(device.facts.uuid);
        EXPECT_TRUE(service::isPciAddress(device.pciAddress)) << device.pciAddress;
        addresses.insert(device.pciAddress);
    }
    EXPECT_EQ(uuids.size(), 1024U);
    EXPECT_EQ(addresses.size(), 1024U);
    EXPECT_EQ(sample({}).devices[1].facts.uuid, found.devices[1].facts.uuid);
}

TEST(SimulatedGpus, HaveTheNodesThatTheVariableGivesThemInOrder) {
    const core::GpuSample found =
        sample({{"GENV_MOCK_DEVICE_COUNT", "3"}, {"GENV_MOCK_DEVICE_NODES", "195:1,4095:1048575"}});
    ASSERT_EQ(found.devices.size(), 3U);
    EXPECT_EQ(found.devices[0].nodes, (std::vector<core::DeviceNode>{{195, 1}}));
    EXPECT_EQ(found.devices[1].nodes, (std::vector<core::DeviceNode>{{4095, 1'048'575}}));
    EXPECT_EQ(found.devices[2].nodes, std::vector<core::DeviceNode>{});
    EXPECT_EQ(sample({}).devices[0].nodes, std::vector<core::DeviceNode>{});
}

TEST(SimulatedGpus, RefuseNodesThatAreNoneOrTooManyOrOneTwice) {
    EXPECT_EQ(
        refusal({{"GENV_MOCK_DEVICE_NODES", "195"}}),
        "GENV_MOCK_DEVICE_NODES=\"195\": expected MAJOR:MINOR for at most 2 devices, separated "
        "by commas and no two alike, such as \"195:0,195:1\"");
    for (const char* value :
         {"", ",", "195:", ":0", "195:0,", ",195:0", "195:0,,195:1", "195:0;195:1", "195:0, 195:1",
          "195:0:1", "0x195:0", "-195:0", "4096:0", "195:1048576", "195:99999999999999999999",
          "195:0,195:1,195:2", "195:0,195:0"})
        EXPECT_NE(refusal({{"GENV_MOCK_DEVICE_NODES", value}}), "") << value;
}

TEST(SimulatedGpus, RefuseWhatTheVariablesMayNotSayAndNameThem) {
    EXPECT_EQ(refusal({{"GENV_MOCK_DEVICE_COUNT", "1025"}}),
              "GENV_MOCK_DEVICE_COUNT=\"1025\": expected a whole number from 0 to 1024");
    EXPECT_EQ(refusal({{"GENV_DEVICES", "two\n"}}),
              "GENV_DEVICES=\"two\\x0a\": expected a whole number from 0 to 1024");
    for (const char* value : {"", "-1", "1.5", "4 ", "99999999999999999999"})
        EXPECT_NE(refusal({{"GENV_MOCK_DEVICE_COUNT", value}}), "") << value;
    EXPECT_NE(
        refusal({{"GENV_MOCK_DEVICE_UTILIZATION", "101"}}).find("GENV_MOCK_DEVICE_UTILIZATION"),
        std::string::npos);
    EXPECT_NE(
        refusal({{"GENV_MOCK_DEVICE_TEMPERATURE", "hot"}}).find("GENV_MOCK_DEVICE_TEMPERATURE"),
        std::string::npos);
    for (const char* name : {"GENV_MOCK_DEVICE_TOTAL_MEMORY", "GENV_MOCK_DEVICE_USED_MEMORY",
                             "GENV_MOCK_COMPUTE_APPS_GPU_MEMORY"})
        EXPECT_NE(refusal({{name, "much"}}).find(name), std::string::npos);
    EXPECT_NE(refusal({{"GENV_MOCK_DEVICE_NAME", "\x1b[31m"}}).find("GENV_MOCK_DEVICE_NAME"),
              std::string::npos);
    EXPECT_NE(refusal({{nameVariable, "longer-than-comm"}}).find(nameVariable), std::string::npos);
    EXPECT_NE(refusal({{nameVariable, ""}}).find(nameVariable), std::string::npos);
}

class SimulatedProcesses : public testing::Test {
  public:
    SimulatedProcesses() {
        std::string name = (fs::temp_directory_path() / "genv-proc-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no temporary folder");
        proc_ = name;
    }
    ~SimulatedProcesses() override { fs::remove_all(proc_); }

  protected:
    void addProcess(const std::string& folder, const std::string& name) const {
        fs::create_directory(proc_ / folder);
        std::ofstream(proc_ / folder / "comm") << name << '\n';
    }

    [[nodiscard]] std::vector<core::Pid> find(const Variables& variables) const {
        std::vector<core::Pid> pids;
        for (const core::ProcessSample& use : sample(variables, proc_).uses)
            pids.push_back(use.pid);
        return pids;
    }

    fs::path proc_;
};

TEST_F(SimulatedProcesses, AreNoneUnlessANameIsGiven) {
    addProcess("3", "sleep");
    EXPECT_EQ(find({}), std::vector<core::Pid>{});
    EXPECT_EQ(find({{nameVariable, "sleep"}}), (std::vector<core::Pid>{3, 3}));
}

TEST_F(SimulatedProcesses, AreThoseOfTheNameOnEachDevice) {
    addProcess("20", "sleep");
    addProcess("3", "sleep");
    addProcess("4", "sleepy");
    addProcess("5", "slee");
    addProcess("self", "sleep");
    const core::GpuSample found = sample({{nameVariable, "sleep"}}, proc_);
    ASSERT_EQ(found.uses.size(), 4U);
    EXPECT_EQ(find({{nameVariable, "sleep"}}), (std::vector<core::Pid>{3, 3, 20, 20}));
    EXPECT_EQ(found.uses[0].device, found.devices[0].facts.uuid);
    EXPECT_EQ(found.uses[1].device, found.devices[1].facts.uuid);
    EXPECT_EQ(found.uses[1].usedMemory, core::Bytes{42ULL << 20U});
    EXPECT_EQ(find({{"GENV_MOCK_DEVICE_COUNT", "1"}, {nameVariable, "sleepy"}}),
              std::vector<core::Pid>{4});
    EXPECT_EQ(sample({{nameVariable, "sleep"}, {"GENV_MOCK_COMPUTE_APPS_GPU_MEMORY", "1g"}}, proc_)
                  .uses.at(0)
                  .usedMemory,
              core::Bytes{1'000'000'000});
}

TEST_F(SimulatedProcesses, UseTheDevicesThatCudaWouldShowThem) {
    const auto used = [this](const std::string& environment) {
        addProcess("3", "work");
        std::ofstream(proc_ / "3" / "environ") << environment;
        const core::GpuSample found =
            sample({{"GENV_MOCK_DEVICE_COUNT", "4"}, {nameVariable, "work"}}, proc_);
        std::string indices;
        for (const core::ProcessSample& use : found.uses)
            indices += use.device.back();
        return indices;
    };
    using namespace std::string_literals;
    EXPECT_EQ(used("HOME=/\0GENV_GPUS=2\0"s), "0123");
    EXPECT_EQ(used("HOME=/\0CUDA_VISIBLE_DEVICES=1,3\0GENV_GPUS=2\0"s), "13");
    EXPECT_EQ(used("CUDA_VISIBLE_DEVICES=2\0"s), "2");
    EXPECT_EQ(used("CUDA_VISIBLE_DEVICES=3,3\0"s), "3");
    EXPECT_EQ(used("MY_CUDA_VISIBLE_DEVICES=2\0X=CUDA_VISIBLE_DEVICES=1\0"s), "0123");
    EXPECT_EQ(used("CUDA_VISIBLE_DEVICES=GPU-67656e76-0000-4000-8000-000000000002,0\0"s), "02");
    // Everything after the first entry without a device is ignored.
    EXPECT_EQ(used("CUDA_VISIBLE_DEVICES=1,-1,2\0"s), "1");
    EXPECT_EQ(used("CUDA_VISIBLE_DEVICES=-1\0"s), "");
    EXPECT_EQ(used("CUDA_VISIBLE_DEVICES=\0"s), "");
    EXPECT_EQ(used("CUDA_VISIBLE_DEVICES=4\0"s), "");
}

TEST_F(SimulatedProcesses, UseEveryDeviceWhereThatIsAskedFor) {
    addProcess("3", "work");
    std::ofstream(proc_ / "3" / "environ") << "CUDA_VISIBLE_DEVICES=0";
    const Variables all{{nameVariable, "work"}, {"GENV_MOCK_COMPUTE_APPS_DEVICES", "all"}};
    EXPECT_EQ(find(all), (std::vector<core::Pid>{3, 3}));
    EXPECT_ANY_THROW(static_cast<void>(
        find({{nameVariable, "work"}, {"GENV_MOCK_COMPUTE_APPS_DEVICES", "some"}})));
}

TEST_F(SimulatedProcesses, MayEndWhileTheyAreLookedAt) {
    fs::create_directory(proc_ / "5");
    EXPECT_EQ(find({{nameVariable, "sleep"}}), std::vector<core::Pid>{});
}

TEST_F(SimulatedProcesses, AreNotFooledByBracketsInTheirName) {
    addProcess("3", "a) Z 1 (b");
    EXPECT_EQ(find({{"GENV_MOCK_DEVICE_COUNT", "1"}, {nameVariable, "a) Z 1 (b"}}),
              std::vector<core::Pid>{3});
}

} // namespace
