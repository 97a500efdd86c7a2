// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/slurm/device_numbers.hpp"

#include <gtest/gtest.h>

namespace genv::service {
namespace {

using TableRows = std::vector<SlurmDeviceRow>;

core::DeviceSample sampleWith(const std::string& uuid, std::vector<core::DeviceNode> nodes,
                              core::DeviceKind kind = core::DeviceKind::Gpu) {
    core::DeviceSample sample;
    sample.facts.uuid = uuid;
    sample.facts.kind = kind;
    sample.nodes = std::move(nodes);
    return sample;
}

TEST(SlurmDeviceNumbers, FollowTheNodesNotTheOrder) {
    const auto table =
        joinSlurmDevices({{0, {195, 3}}, {1, {195, 0}}},
                         {sampleWith("GPU-a", {{195, 0}}), sampleWith("GPU-b", {{195, 1}}),
                          sampleWith("GPU-c", {{195, 3}})});
    EXPECT_EQ(table.rows, (TableRows{{0, "GPU-c"}, {1, "GPU-a"}}));
    EXPECT_TRUE(table.unknown.empty());
    EXPECT_EQ(slurmDeviceText(table.rows), "0 GPU-c\n1 GPU-a\n");
}

TEST(SlurmDeviceNumbers, LeaveOutWhatIsNoDevice) {
    const auto table = joinSlurmDevices({{0, {195, 7}}, {1, {195, 0}}},
                                        {sampleWith("GPU-a", {{195, 0}}), sampleWith("GPU-b", {})});
    EXPECT_EQ(table.rows, (TableRows{{1, "GPU-a"}}));
    ASSERT_EQ(table.unknown.size(), 1U);
    EXPECT_EQ(table.unknown[0].number, 0U);
}

TEST(SlurmDeviceNumbers, TellMigInstancesApartByTheirOwnNodes) {
    const auto mig = core::DeviceKind::MigInstance;
    const std::vector<core::DeviceSample> devices{
        sampleWith("MIG-a", {{195, 0}, {237, 66}, {237, 67}}, mig),
        sampleWith("MIG-b", {{195, 0}, {237, 75}, {237, 76}}, mig)};
    EXPECT_EQ(joinSlurmDevices({{0, {237, 76}}, {1, {237, 67}}}, devices).rows,
              (TableRows{{0, "MIG-b"}, {1, "MIG-a"}}));
    EXPECT_EQ(joinSlurmDevices({{0, {195, 0}}}, devices).unknown.size(), 1U);
}

} // namespace
} // namespace genv::service
