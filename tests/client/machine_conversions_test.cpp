// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/machine_conversions.hpp"
#include "client/libgenv/proxies.hpp"
#include "tests/client/plain_properties.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace genv::client {
namespace {

constexpr std::uint32_t unknown32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t unknown64 = std::numeric_limits<std::uint64_t>::max();

ManagedObjects objectsOf(const Properties& device, const Properties& environment) {
    return {{std::string("/d/10"), {{DeviceProxy::INTERFACE_NAME, device}}},
            {std::string("/d/2"), {{DeviceProxy::INTERFACE_NAME, plainDevice(2)}}},
            {std::string("/e/1"), {{EnvironmentProxy::INTERFACE_NAME, environment}}},
            {std::string("/e/9"), {{EnvironmentProxy::INTERFACE_NAME, plainEnvironment("9", 1)}}}};
}

const Properties managerProperties{{"DriverVersion", Value(std::string("550"))},
                                   {"Isolation", Value(std::string("user"))}};

TEST(MachineConversions, ReadWhichDevicesAreFree) {
    EXPECT_TRUE(toDeviceState(plainDevice(10)).isFree);
    Properties device = changed(plainDevice(10), "Free", Value(false));
    device = changed(device, "UnaccountedMemory", Value(std::uint64_t{37}));
    EXPECT_FALSE(toDeviceState(device).isFree);
    EXPECT_EQ(toDeviceState(device).unaccountedMemoryBytes, 37U);
}

TEST(MachineConversions, ReadUnknownMemoryAsNone) {
    Properties device = changed(plainDevice(10), "TotalMemory", Value(unknown64));
    device = changed(device, "AvailableMemory", Value(unknown64));
    const DeviceState state = toDeviceState(device);
    EXPECT_EQ(state.device.totalMemoryBytes, 0U);
    EXPECT_EQ(state.availableMemoryBytes, 0U);
}

TEST(MachineConversions, ReadTheWholeMachine) {
    Properties device = plainDevice(10);
    device = changed(device, "PCIAddress", Value(std::string("0000:65:00.0")));
    device = changed(device, "PowerLimit", Value(std::uint32_t{400'000}));
    device = changed(device, "ReservedFor", Value(std::string("slurm")));
    Properties environment = plainEnvironment("slurm-4", 2);
    environment = changed(environment, "Attached", Value(BusAttached{{0, 0}, {3, 77}}));
    environment = changed(environment, "Parent", Value(std::string("9")));
    environment = changed(environment, "Job", Value(std::string("4")));
    const Machine machine = toMachine(objectsOf(device, environment), managerProperties);
    EXPECT_EQ(machine.driverVersion, "550");
    EXPECT_EQ(machine.isolation, "user");
    ASSERT_EQ(machine.devices.size(), 2U);
    EXPECT_EQ(machine.devices[0].device.index, 2U) << "by index";
    EXPECT_EQ(machine.devices[1].sensors.utilizationPercent, 93U);
    EXPECT_EQ(machine.devices[1].pciAddress, "0000:65:00.0");
    EXPECT_EQ(machine.devices[1].sensors.powerLimitMilliwatts, 400'000U);
    EXPECT_EQ(machine.devices[1].reservedFor, "slurm");
    ASSERT_EQ(machine.environments.size(), 2U);
    EXPECT_EQ(machine.environments[0].id, "9") << "oldest first";
    EXPECT_EQ(machine.environments[1].parent, "9");
    EXPECT_EQ(machine.environments[1].job, "4");
    ASSERT_EQ(machine.environments[1].attached.size(), 2U);
    EXPECT_EQ(machine.environments[1].attached[0].expires, std::nullopt);
    EXPECT_EQ(machine.environments[1].attached[1].device, 3U);
    EXPECT_EQ(machine.environments[1].attached[1].expires, toTime(77));
}

TEST(MachineConversions, KnowTheValuesThatMeanUnknown) {
    const Machine machine =
        toMachine(objectsOf(plainDevice(10), plainEnvironment("7", 2)), managerProperties);
    EXPECT_EQ(machine.devices.at(1).sensors.powerLimitMilliwatts, std::nullopt);
    EXPECT_EQ(machine.devices.at(1).reservedFor, std::nullopt);
    EXPECT_EQ(machine.environments.at(1).parent, std::nullopt);
    EXPECT_EQ(machine.environments.at(1).job, std::nullopt);
    EXPECT_EQ(machine.environments.at(1).attached.at(1).expires, std::nullopt);
}

TEST(MachineConversions, RefuseAMachineThatLacksAProperty) {
    const auto read = [](const Properties& device, const Properties& manager) {
        const ManagedObjects objects = objectsOf(device, plainEnvironment("7", 2));
        toMachine(objects, manager);
    };
    const Properties whole = plainDevice(10);
    for (const auto& [name, held] : managerProperties) {
        EXPECT_THROW(read(whole, without(managerProperties, name)), sdbus::Error) << name;
    }
    for (const auto& [name, held] : whole) {
        EXPECT_THROW(read(without(whole, name), managerProperties), sdbus::Error) << name;
    }
}

TEST(MachineConversions, ReadReadings) {
    const auto readings = toReadings(
        {{1, 5, 10, 20, -3, 40},
         {2, 6, unknown64, unknown32, std::numeric_limits<std::int32_t>::max(), unknown32}});
    ASSERT_EQ(readings.size(), 2U);
    EXPECT_EQ(readings[0].device, 1U);
    EXPECT_EQ(readings[0].when, toTime(5));
    EXPECT_EQ(readings[0].usedMemoryBytes, 10U);
    EXPECT_EQ(readings[0].utilizationPercent, 20U);
    EXPECT_EQ(readings[0].temperatureCelsius, -3);
    EXPECT_EQ(readings[0].powerMilliwatts, 40U);
    EXPECT_EQ(readings[1].usedMemoryBytes, std::nullopt);
    EXPECT_EQ(readings[1].utilizationPercent, std::nullopt);
    EXPECT_EQ(readings[1].temperatureCelsius, std::nullopt);
    EXPECT_EQ(readings[1].powerMilliwatts, std::nullopt);
}

TEST(MachineConversions, ReadDescriptionsOfProcesses) {
    const Properties process{{"pid", Value(std::uint32_t{7})},
                             {"uid", Value(std::uint32_t{1001})},
                             {"user", Value(std::string("alice"))},
                             {"environment", Value(std::string())},
                             {"name", Value(std::string("python3"))},
                             {"devices", Value(BusUses{{0, 5, 50}, {1, unknown64, unknown32}})},
                             {"started", Value(std::uint64_t{9})}};
    Properties other = process;
    other = changed(other, "environment", Value(std::string("4")));
    other = changed(other, "started", Value(unknown64));
    const auto described = toProcessDescriptions({process, other});
    ASSERT_EQ(described.size(), 2U);
    EXPECT_EQ(described[0].pid, 7U);
    EXPECT_EQ(described[0].uid, 1001U);
    EXPECT_EQ(described[0].user, "alice");
    EXPECT_EQ(described[0].environment, std::nullopt);
    EXPECT_EQ(described[0].name, "python3");
    EXPECT_EQ(described[0].started, toTime(9));
    ASSERT_EQ(described[0].uses.size(), 2U);
    EXPECT_EQ(described[0].uses[0].usedMemoryBytes, 5U);
    EXPECT_EQ(described[0].uses[0].utilizationPercent, 50U);
    EXPECT_EQ(described[0].uses[1].usedMemoryBytes, std::nullopt);
    EXPECT_EQ(described[0].uses[1].utilizationPercent, std::nullopt);
    EXPECT_EQ(described[1].environment, "4");
    EXPECT_EQ(described[1].started, std::nullopt);
    for (const auto& [name, held] : process) {
        EXPECT_THROW(toProcessDescriptions(std::vector<Properties>{without(process, name)}),
                     sdbus::Error)
            << name;
    }
}

} // namespace
} // namespace genv::client
