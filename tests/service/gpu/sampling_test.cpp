// SPDX-License-Identifier: LGPL-2.1-or-later
// The readings of a working driver are in the sample, and unknown readings stay unknown.
#include "tests/service/gpu/nvml_fixture.hpp"

#include <fmt/format.h>

using namespace genv;
using namespace genv::tests;

namespace {

using Strings = std::vector<std::string>;
class Sampling : public NvmlTest {};

// Returns "pid:percent", or "pid:?", for each use.
Strings utilizationsOf(const core::GpuSample& sample) {
    Strings result;
    for (const core::ProcessSample& use : sample.uses)
        result.push_back(
            fmt::format("{}:{}", use.pid,
                        use.utilizationPercent ? std::to_string(*use.utilizationPercent) : "?"));
    return result;
}

TEST_F(Sampling, TellsFactsAndReadingsOfEachGpu) {
    become(
        {{"driver", "550.54.15"},
         {"devices",
          {gpu(0),
           gpu(1, {{"name", "NVIDIA H100"}, {"utilization", 0}, {"pci", "00010000:AB:1F.0"}})}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(sample.driverVersion, "550.54.15");
    ASSERT_EQ(uuidsOf(sample), (Strings{gpuUuid(0), gpuUuid(1)}));
    EXPECT_EQ(sample.noDriver, "");
    const core::DeviceSample& first = sample.devices[0];
    EXPECT_EQ(first.facts,
              (core::DeviceFacts{gpuUuid(0), 0, core::DeviceKind::Gpu, "NVIDIA A100-SXM4-40GB",
                                 core::Bytes{42'949'672'960}}));
    EXPECT_EQ(first.reading.usedMemory,
              core::Bytes{1'048'576}); // without the driver's reserved memory
    EXPECT_EQ(first.memory.free, core::Bytes{42'949'672'960 - 1'048'576 - 500'000});
    EXPECT_EQ(first.reading.utilizationPercent, 93U);
    EXPECT_EQ(first.reading.temperatureCelsius, 38);
    EXPECT_EQ(first.reading.powerMilliwatts, 250'000U);
    EXPECT_EQ(first.reading.powerLimitMilliwatts, 400'000U);
    EXPECT_EQ(first.pciAddress, "0000:10:00.0");
    EXPECT_EQ(first.health, core::Health{});
    EXPECT_EQ(sample.devices[1].facts.index, 1U);
    EXPECT_EQ(sample.devices[1].facts.model, "NVIDIA H100");
    EXPECT_EQ(sample.devices[1].reading.utilizationPercent, 0U);
    EXPECT_EQ(sample.devices[1].pciAddress, "10000:ab:1f.0");
}

TEST_F(Sampling, ReadingsThatAGpuDoesNotHaveAreUnknown) {
    become({{"devices", {{{"uuid", gpuUuid(0)}}}},
            {"faults", {{"nvmlSystemGetDriverVersion", 999}, {"nvmlDeviceGetPciInfo_v3", 13}}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    ASSERT_EQ(sample.devices.size(), 1U);
    EXPECT_EQ(sample.devices[0].facts.model, "unknown");
    EXPECT_EQ(sample.devices[0].facts.totalMemory, core::Bytes{0});
    EXPECT_EQ(sample.devices[0].reading, core::DeviceReading{});
    EXPECT_EQ(sample.devices[0].pciAddress, "");
    EXPECT_EQ(sample.driverVersion, "");
    EXPECT_EQ(sample.devices[0].health, core::Health{});
}

TEST_F(Sampling, AGpuThatIsAlwaysBusyIsAt100Percent) {
    become({{"devices", {gpu(0, {{"utilization", 100}})}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(deviceOf(gpus.sample(), gpuUuid(0)).reading.utilizationPercent, 100U);
}

TEST_F(Sampling, ReadingsThatMakeNoSenseAreUnknown) {
    become({{"devices",
             {gpu(0, {{"utilization", 101},
                      {"temperature", 4'000'000'000},
                      {"memory", {{"total", ~0ULL}, {"used", ~0ULL}}}})}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    const core::DeviceSample& device = deviceOf(sample, gpuUuid(0));
    EXPECT_EQ(device.facts.totalMemory, core::Bytes{0});
    EXPECT_EQ(device.reading.usedMemory, std::nullopt);
    EXPECT_EQ(device.reading.utilizationPercent, std::nullopt);
    EXPECT_EQ(device.reading.temperatureCelsius, std::nullopt);
    EXPECT_EQ(device.reading.powerMilliwatts, 250'000U);
}

TEST_F(Sampling, MemoryComesFromTheFirstVersionWhereTheSecondIsMissing) {
    become({{"devices", {gpu(0)}}, {"faults", {{"nvmlDeviceGetMemoryInfo_v2", 13}}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(sample.devices.at(0).facts.totalMemory, core::Bytes{42'949'672'960});
    EXPECT_EQ(sample.devices.at(0).reading.usedMemory,
              core::Bytes{1'548'576}); // with the reserved memory
}

TEST_F(Sampling, AnOldLibraryWithoutVersionedFunctionsIsEnough) {
    useLibraryFrom(FAKE_NVML_OLD_FOLDER);
    become({{"devices", {gpu(0, {{"processes", processes({7, 8})}})}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(uuidsOf(sample), Strings{gpuUuid(0)});
    EXPECT_EQ(usesOf(sample, gpuUuid(0)), (Strings{"7:7", "8:8"}));
}

TEST_F(Sampling, AGpuInMigModeIsItsInstancesWithIndicesAboveTheGpus) {
    json first =
        gpu(0, {{"mig", {migInstance("MIG-a", 1, 0), nullptr, migInstance("MIG-b", 2, 0)}}});
    json last = gpu(2, {{"mig", {migInstance("MIG-c", 1, 0)}}});
    first["mig"][0]["processes"] = processes({11});
    first["mig"][2]["processes"] = processes({11, 12});
    become({{"devices", {first, gpu(1), last}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    ASSERT_EQ(uuidsOf(sample), (Strings{gpuUuid(1), "MIG-a", "MIG-b", "MIG-c"}));
    EXPECT_EQ(sample.devices[0].facts.index, 1U);
    EXPECT_EQ(sample.devices[1].facts.index, 3U);
    EXPECT_EQ(sample.devices[2].facts.index, 4U);
    EXPECT_EQ(sample.devices[3].facts.index, 5U);
    EXPECT_EQ(sample.devices[0].facts.kind, core::DeviceKind::Gpu);
    EXPECT_EQ(sample.devices[1].facts.kind, core::DeviceKind::MigInstance);
    EXPECT_EQ(sample.devices[1].facts.totalMemory, core::Bytes{5'000'000'000});
    EXPECT_EQ(sample.devices[1].reading.usedMemory, core::Bytes{100});
    EXPECT_EQ(sample.devices[1].reading.temperatureCelsius, std::nullopt);
    EXPECT_EQ(sample.devices[1].reading.powerLimitMilliwatts, std::nullopt);
    EXPECT_EQ(sample.devices[2].pciAddress, "0000:10:00.0"); // that of its GPU
    EXPECT_EQ(usesOf(sample, "MIG-a"), Strings{"11:11"});
    EXPECT_EQ(usesOf(sample, "MIG-b"), (Strings{"11:11", "12:12"}));
}

TEST_F(Sampling, UtilizationOfAProcessIsItsNewestSample) {
    json list = processes({7, 8, 9});
    list[0]["utilization"] = json::array({{3, 70}, {1, 10}, {2, 20}});
    list[1]["utilization"] = json::array();
    list[2]["utilization"] = json::array({{1, 101}});
    become({{"devices", {gpu(0, {{"processes", list}})}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(utilizationsOf(gpus.sample()), (Strings{"7:70", "8:0", "9:?"}));
}

TEST_F(Sampling, AProcessThatTookNoTimeOnAnIdleGpuHasNoUtilization) {
    json list = processes({7});
    list[0]["utilization"] = json::array();
    become({{"devices", {gpu(0, {{"processes", list}})}}}); // NVML finds no samples
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(utilizationsOf(gpus.sample()), Strings{"7:0"});
}

TEST_F(Sampling, UtilizationOfManyProcessesIsAskedForWithMoreRoom) {
    json list = processes({7, 8});
    for (int sample = 0; sample < 300; ++sample)
        list[0]["utilization"].push_back({sample, sample % 100});
    become({{"devices", {gpu(0, {{"processes", list}})}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(utilizationsOf(gpus.sample()), (Strings{"7:99", "8:50"}));
}

TEST_F(Sampling, UtilizationThatTheDriverDoesNotTellIsUnknown) {
    for (const int failure : {3, 4, 13, 999}) {
        become({{"devices", {gpu(0, {{"processes", processes({7})}})}},
                {"faults", {{"nvmlDeviceGetProcessUtilization", failure}}}});
        service::NvmlGpus gpus(settings());
        const core::GpuSample sample = gpus.sample();
        EXPECT_EQ(utilizationsOf(sample), Strings{"7:?"}) << failure;
        EXPECT_EQ(deviceOf(sample, gpuUuid(0)).health, core::Health{}) << failure;
    }
}

TEST_F(Sampling, AGpuInMigModeWithoutInstancesIsNoDevice) {
    become({{"devices", {gpu(0, {{"mig", json::array()}}), gpu(1)}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(1)});
}

TEST_F(Sampling, WhatTheDriverCallsAGpuIsEscapedAndCut) {
    const json hostile{'A', 0x1B, '[', '3', '1', 'm', 0xFF, '\n', '"', '\\', 0xE2, 0x80, 0xAE};
    become({{"devices", {gpu(0, {{"name", hostile}}), gpu(1, {{"name", std::string(95, 'x')}})}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(deviceOf(sample, gpuUuid(0)).facts.model, R"(A\x1b[31m\xff\x0a\"\\\xe2\x80\xae)");
    EXPECT_EQ(deviceOf(sample, gpuUuid(1)).facts.model, std::string(95, 'x'));
}

TEST_F(Sampling, AGpuWhoseUuidIsNoneIsNotListed) {
    become({{"devices", {gpu(0, {{"uuid", "GPU-1\n\"}"}}), gpu(1), gpu(2, {{"uuid", ""}})}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(uuidsOf(gpus.sample()), Strings{gpuUuid(1)});
}

TEST_F(Sampling, WhatTheDriverSaysOfItsFailureIsEscaped) {
    become({{"faults", {{"nvmlInit_v2", 999}}}, {"error_string", "bad\u001b]0;x\n"}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(errorOf(gpus),
              R"(the NVIDIA driver does not work: bad\x1b]0;x\x0a (NVML error 999))");
}

TEST_F(Sampling, ALibraryThatPrintsDoesNotSpoilTheAnswer) {
    become({{"print", "{\"sample\":1}\n"}, {"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    testing::internal::CaptureStderr();
    const core::GpuSample sample = gpus.sample();
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(uuidsOf(sample), Strings{gpuUuid(0)});
}

// The unaccounted memory of the first GPU.
class Accounting : public NvmlTest {
  protected:
    static constexpr std::uint64_t gibibyte = 1ULL << 30U;

    static json memory(std::uint64_t used) {
        return {{"total", 80 * gibibyte}, {"used", used}, {"reserved", gibibyte}};
    }
    static json process(core::Pid pid, const json& bytes, const char* type) {
        return {{"pid", pid}, {"memory", bytes}, {"type", type}};
    }
    std::optional<core::Bytes> unaccounted(std::uint64_t used, const json& processes,
                                           const json& more = json::object()) {
        json device = gpu(0, {{"memory", memory(used)}, {"processes", processes}});
        device.update(more);
        become({{"devices", {device}}});
        service::NvmlGpus gpus(settings());
        return deviceOf(gpus.sample(), gpuUuid(0)).memory.unaccounted;
    }
};

TEST_F(Accounting, LeavesOutTheReservedMemoryAndThatOfEveryKindOfProcess) {
    EXPECT_EQ(unaccounted(0, json::array()), core::Bytes{0}) << "reserved memory is not used";
    EXPECT_EQ(unaccounted(37 * gibibyte, json::array()), core::Bytes{37 * gibibyte});
    EXPECT_EQ(unaccounted(37 * gibibyte,
                          {process(1, 20 * gibibyte, "compute"), process(2, 10 * gibibyte, "mps"),
                           process(3, 7 * gibibyte, "graphics")}),
              core::Bytes{0});
    EXPECT_EQ(unaccounted(4 * gibibyte, json::array({process(3, 4 * gibibyte, "graphics")})),
              core::Bytes{0})
        << "a desktop";
    EXPECT_EQ(unaccounted(10 * gibibyte, json::array({process(3, 20 * gibibyte, "compute")})),
              core::Bytes{0})
        << "never below zero";
}

TEST_F(Accounting, CountsAProcessInSeveralListsOnce) {
    EXPECT_EQ(unaccounted(10 * gibibyte,
                          {process(1, 4 * gibibyte, "compute"),
                           process(1, 4 * gibibyte, "graphics"), process(1, 4 * gibibyte, "mps")}),
              core::Bytes{6 * gibibyte});
}

TEST_F(Accounting, SaysNothingIfTheMemoryOfAProcessIsUnknown) {
    EXPECT_EQ(unaccounted(37 * gibibyte, json::array({process(1, nullptr, "compute")})),
              std::nullopt);
    EXPECT_EQ(unaccounted(37 * gibibyte, json::array({process(1, nullptr, "graphics")})),
              std::nullopt);
}

TEST_F(Accounting, SaysNothingIfTheDriverCannotListTheProcesses) {
    const auto without = [](std::initializer_list<const char*> functions, int result) {
        json faults;
        for (const char* function : functions)
            faults[function] = result;
        return json{{"faults", faults}};
    };
    const auto graphics = {"nvmlDeviceGetGraphicsRunningProcesses_v3",
                           "nvmlDeviceGetGraphicsRunningProcesses_v2",
                           "nvmlDeviceGetGraphicsRunningProcesses"};
    const auto compute = {"nvmlDeviceGetComputeRunningProcesses_v3",
                          "nvmlDeviceGetComputeRunningProcesses_v2",
                          "nvmlDeviceGetComputeRunningProcesses"};
    const auto mps = {"nvmlDeviceGetMPSComputeRunningProcesses_v3",
                      "nvmlDeviceGetMPSComputeRunningProcesses_v2",
                      "nvmlDeviceGetMPSComputeRunningProcesses"};
    constexpr int notSupported = 3;
    constexpr int functionNotFound = 13;
    constexpr std::uint64_t used = 37 * gibibyte;
    EXPECT_EQ(unaccounted(used, json::array(), without(graphics, functionNotFound)), std::nullopt);
    EXPECT_EQ(unaccounted(used, json::array(), without(compute, notSupported)), std::nullopt);
    EXPECT_EQ(unaccounted(used, json::array(), without(graphics, notSupported)), core::Bytes{used})
        << "a GPU that does not support graphics has no graphics processes";
    EXPECT_EQ(unaccounted(used, json::array(), without(mps, functionNotFound)), core::Bytes{used})
        << "MPS clients are compute processes, too";
}

TEST_F(Accounting, OfOldDriversIncludesTheReservedMemory) {
    useLibraryFrom(FAKE_NVML_OLD_FOLDER);
    EXPECT_EQ(unaccounted(37 * gibibyte, json::array({process(1, 37 * gibibyte, "compute")})),
              core::Bytes{gibibyte});
}

TEST_F(Accounting, IsDoneForEachMigInstance) {
    json first = migInstance("MIG-1", 1, 0);
    first["memory"] = {{"total", 10 * gibibyte}, {"used", 5 * gibibyte}};
    first["processes"] = json::array({process(1, 5 * gibibyte, "compute")});
    json second = migInstance("MIG-2", 2, 0);
    second["memory"] = {{"total", 10 * gibibyte}, {"used", 3 * gibibyte}};
    become({{"devices", {gpu(0, {{"mig", {first, second}}})}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(deviceOf(sample, "MIG-1").memory.unaccounted, core::Bytes{0});
    EXPECT_EQ(deviceOf(sample, "MIG-2").memory.unaccounted, core::Bytes{3 * gibibyte});
}

TEST_F(Accounting, DoesNotMakeGraphicsProcessesComputeProcesses) {
    become(
        {{"devices", {gpu(0, {{"processes", json::array({process(3, gibibyte, "graphics")})}})}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(usesOf(gpus.sample(), gpuUuid(0)), Strings{}) << "rules would end a desktop";
}

TEST_F(Sampling, AGpuWithoutAMemoryReadingSharesTheMachinesMemory) {
    become({{"devices", {{{"uuid", gpuUuid(0)}}, gpu(1)}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_TRUE(deviceOf(sample, gpuUuid(0)).hasUnifiedMemory);
    EXPECT_FALSE(deviceOf(sample, gpuUuid(1)).hasUnifiedMemory);
    become({{"devices",
             {gpu(0, {{"faults",
                       {{"nvmlDeviceGetMemoryInfo_v2", 27}, {"nvmlDeviceGetMemoryInfo", 27}}}})}}});
    EXPECT_FALSE(deviceOf(gpus.sample(), gpuUuid(0)).hasUnifiedMemory) << "only not ready";
}

} // namespace
