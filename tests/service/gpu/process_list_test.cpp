// SPDX-License-Identifier: LGPL-2.1-or-later
// The compute processes are found in every version of NVML's lists, with the right PID on the right
// device.
#include "tests/service/gpu/nvml_fixture.hpp"

#include <numeric>

using namespace genv;
using namespace genv::tests;

namespace {

using Strings = std::vector<std::string>;

constexpr const char* v1 = "nvmlDeviceGetComputeRunningProcesses";
constexpr const char* v2 = "nvmlDeviceGetComputeRunningProcesses_v2";
constexpr const char* v3 = "nvmlDeviceGetComputeRunningProcesses_v3";

class ProcessLists : public NvmlTest {
  protected:
    /// Returns the uses of GPU 0 on a machine with these additional members.
    Strings sampleUses(const json& list, json machine = json::object()) {
        machine["devices"] = {gpu(0, {{"processes", list}}), gpu(1)};
        become(machine);
        service::NvmlGpus gpus(settings());
        const core::GpuSample sample = gpus.sample();
        EXPECT_EQ(usesOf(sample, gpuUuid(1)), Strings{});
        return usesOf(sample, gpuUuid(0));
    }
};

TEST_F(ProcessLists, EachVersionOfTheFunctionServes) {
    const json list = processes({100, 200, 300});
    const Strings expected{"100:100", "200:200", "300:300"};
    EXPECT_EQ(sampleUses(list), expected);
    EXPECT_EQ(sampleUses(list, {{"faults", {{v3, 13}}}}), expected);
    EXPECT_EQ(sampleUses(list, {{"faults", {{v3, 13}, {v2, 13}}}}), expected);
    EXPECT_EQ(sampleUses(list, {{"faults", {{v3, 13}, {v2, 13}, {v1, 13}}}}), Strings{});
}

TEST_F(ProcessLists, EntriesOfAnotherSizeThanTheVersionSaysAreReadRight) {
    const json list = processes({100, 200, 300});
    const Strings expected{"100:100", "200:200", "300:300"};
    EXPECT_EQ(sampleUses(list, {{"process_entry_size", {{v3, 32}}}}), expected);
    EXPECT_EQ(sampleUses(list, {{"process_entry_size", {{v3, 16}}}}), expected);
}

TEST_F(ProcessLists, MemoryThatTheDriverDoesNotKnowIsUnknown) {
    EXPECT_EQ(sampleUses({{{"pid", 7}, {"memory", nullptr}}, {{"pid", 8}, {"memory", 0}}}),
              (Strings{"7:?", "8:0"}));
}

TEST_F(ProcessLists, AProcessListedTwiceIsOneUseWithTheLargerAmount) {
    EXPECT_EQ(sampleUses({{{"pid", 7}, {"memory", 10}},
                          {{"pid", 7}, {"memory", 30}},
                          {{"pid", 7}, {"memory", nullptr}},
                          {{"pid", 8}, {"memory", nullptr}}}),
              (Strings{"7:30", "8:?"}));
}

TEST_F(ProcessLists, ClientsOfMpsCountAndGraphicsDoNot) {
    EXPECT_EQ(sampleUses({{{"pid", 7}, {"memory", 10}},
                          {{"pid", 7}, {"memory", 10}, {"type", "mps"}},
                          {{"pid", 8}, {"memory", 20}, {"type", "mps"}},
                          {{"pid", 9}, {"memory", 30}, {"type", "graphics"}}}),
              (Strings{"7:10", "8:20"}));
}

TEST_F(ProcessLists, WhatIsNoPidIsLeftOut) {
    EXPECT_EQ(
        sampleUses(
            {{{"pid", 0}, {"memory", 1}}, {{"pid", 4'000'000'000}, {"memory", 1}}, {{"pid", 5}}}),
        Strings{"5:?"});
}

TEST_F(ProcessLists, AListLongerThanTheFirstBufferIsReadWhole) {
    std::vector<core::Pid> pids(5000);
    std::iota(pids.begin(), pids.end(), 1000U);
    const Strings uses = sampleUses(processes(pids));
    ASSERT_EQ(uses.size(), pids.size());
    EXPECT_EQ(uses.front(), "1000:1000");
    EXPECT_EQ(uses.back(), "5999:5999");
}

TEST_F(ProcessLists, AListThatNeverFitsIsGivenUpAndTheGpuIsStale) {
    become({{"devices", {gpu(0)}}});
    service::NvmlGpus gpus(settings());
    EXPECT_EQ(gpus.sample().devices.at(0).health, core::Health{});
    become({{"devices", {gpu(0)}}, {"faults", {{v3, 7}}}});
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(deviceOf(sample, gpuUuid(0)).health.state, core::Health::State::Stale);
}

TEST_F(ProcessLists, ProcessesOfMigInstancesAreFoundOnTheGpuWhereInstancesHaveNoList) {
    json instance = migInstance("MIG-a", 3, 1);
    instance["faults"] = {{v3, 3}, {v2, 3}, {v1, 3}};
    json other = migInstance("MIG-b", 3, 2);
    other["faults"] = instance["faults"];
    json third = migInstance("MIG-c", 4, 1);
    third["faults"] = instance["faults"];
    instance["processes"] = processes({11});
    other["processes"] = processes({12, 13});
    third["processes"] = processes({14});
    become({{"devices", {gpu(0, {{"mig", {instance, other, third}}})}}});
    service::NvmlGpus gpus(settings());
    const core::GpuSample sample = gpus.sample();
    EXPECT_EQ(usesOf(sample, "MIG-a"), Strings{"11:11"});
    EXPECT_EQ(usesOf(sample, "MIG-b"), (Strings{"12:12", "13:13"}));
    EXPECT_EQ(usesOf(sample, "MIG-c"), Strings{"14:14"});
}

} // namespace
