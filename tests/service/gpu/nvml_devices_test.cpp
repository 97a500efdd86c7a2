// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of devices that the service keeps between reports.
#include "service/gpu/nvml_devices.hpp"

#include <gtest/gtest.h>

using namespace genv;
using service::NvmlDevice;
using State = core::Health::State;

namespace {

NvmlDevice device(std::uint32_t gpu, const std::string& uuid,
                  std::optional<std::uint32_t> mig = std::nullopt) {
    NvmlDevice result;
    result.gpu = gpu;
    result.mig = mig;
    result.uuid = uuid;
    result.model = "model";
    result.reading.temperatureCelsius = 40;
    result.nodes = {{195, gpu}};
    return result;
}

TEST(NvmlDevices, AreOrderedByIndexWhateverTheOrderOfTheReport) {
    service::NvmlDevices devices;
    const auto sample = devices.update(
        {3,
         {device(2, "MIG-d", 1), device(2, "MIG-c", 0), device(1, "GPU-b"), device(0, "MIG-a", 5)},
         {},
         {}});
    std::vector<std::pair<std::string, std::uint32_t>> found;
    for (const auto& each : sample.devices) {
        const std::uint32_t gpu = each.facts.uuid == "GPU-b"   ? 1
                                  : each.facts.uuid == "MIG-a" ? 0
                                                               : 2;
        EXPECT_EQ(each.nodes, (std::vector<core::DeviceNode>{{195, gpu}}));
        found.emplace_back(each.facts.uuid, each.facts.index);
    }
    EXPECT_EQ(found, (std::vector<std::pair<std::string, std::uint32_t>>{
                         {"GPU-b", 1}, {"MIG-a", 3}, {"MIG-c", 4}, {"MIG-d", 5}}));
}

TEST(NvmlDevices, AFailedGpuThatIsListedAtAnotherIndexIsNotListedTwice) {
    service::NvmlDevices devices;
    devices.update({2, {device(0, "GPU-a"), device(1, "GPU-b")}, {}, {}});
    const auto sample = devices.update({2, {device(0, "GPU-b")}, {{1, true}}, {}});
    ASSERT_EQ(sample.devices.size(), 1U);
    EXPECT_EQ(sample.devices[0].facts.uuid, "GPU-b");
    EXPECT_EQ(sample.devices[0].health.state, State::Ok);
}

TEST(NvmlDevices, AFailedGpuStaysRememberedForAsLongAsItFails) {
    service::NvmlDevices devices;
    devices.update({1, {device(0, "GPU-a")}, {}, {}});
    for (int i = 0; i < 3; ++i) {
        const auto sample = devices.update({1, {}, {{0, true}}, {}});
        ASSERT_EQ(sample.devices.size(), 1U);
        EXPECT_EQ(sample.devices[0].health.state, State::Lost);
        EXPECT_EQ(sample.devices[0].reading, core::DeviceReading{});
        EXPECT_EQ(sample.devices[0].nodes, (std::vector<core::DeviceNode>{{195, 0}}));
    }
    EXPECT_EQ(devices.update({0, {}, {}, {}}).devices.size(), 0U);
    EXPECT_EQ(devices.update({1, {}, {{0, true}}, {}}).devices.size(), 0U);
}

TEST(NvmlDevices, AnXidOutlastsALossAndIsReplacedByTheNext) {
    service::NvmlDevices devices;
    NvmlDevice bad = device(0, "GPU-a");
    bad.xid = 79;
    devices.update({1, {bad}, {}, {}});
    EXPECT_EQ(devices.update({1, {}, {{0, true}}, {}}).devices.at(0).health.state, State::Lost);
    EXPECT_EQ(devices.update({1, {device(0, "GPU-a")}, {}, {}}).devices.at(0).health,
              (core::Health{State::Xid, 79}));
    bad.xid = 154;
    EXPECT_EQ(devices.update({1, {bad}, {}, {}}).devices.at(0).health,
              (core::Health{State::Xid, 154}));
}

TEST(NvmlDevices, AnXidIsForgottenWhenAReportIsWithoutItsDevice) {
    service::NvmlDevices devices;
    NvmlDevice bad = device(0, "GPU-a");
    bad.xid = 79;
    devices.update({1, {bad}, {}, {}});
    devices.update({0, {}, {}, {}});
    EXPECT_EQ(devices.update({1, {device(0, "GPU-a")}, {}, {}}).devices.at(0).health,
              core::Health{});
}

} // namespace
