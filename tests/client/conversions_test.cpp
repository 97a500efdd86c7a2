// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/proxies.hpp"
#include "tests/client/plain_properties.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace genv::client {
namespace {

template <typename Given>
sdbus::Variant variant(Given given) {
    return sdbus::Variant(given);
}

Properties properties() {
    Properties all = plainEnvironment("7", 5);
    all = changed(all, "Name", Value(std::string("a")));
    all = changed(all, "Gpus", Value(std::uint32_t{2}));
    all = changed(all, "GpuMemory", Value(std::uint64_t{1000}));
    return changed(all, "Kernels", Value(std::vector<std::string>{"k"}));
}

TEST(Conversions, ReadAnEnvironment) {
    const Environment environment = toEnvironment(properties());
    EXPECT_EQ(environment.id, "7");
    EXPECT_EQ(environment.uid, 1001U);
    EXPECT_EQ(environment.created, toTime(5));
    EXPECT_EQ(environment.configuration.name, "a");
    EXPECT_EQ(environment.configuration.gpus, 2U);
    EXPECT_EQ(environment.configuration.gpuMemoryBytes, 1000U);
    EXPECT_EQ(environment.devices, (std::vector<std::uint32_t>{0, 3}));
    EXPECT_EQ(environment.expires, std::nullopt);
    EXPECT_FALSE(environment.lingering);
    EXPECT_TRUE(toEnvironment(changed(properties(), "Lingering", Value(true))).lingering);
    EXPECT_EQ(environment.preemptible, "no");
    EXPECT_EQ(
        toEnvironment(changed(properties(), "Preemptible", Value(std::string("end")))).preemptible,
        "end");
    EXPECT_FALSE(environment.overSubscribable);
    EXPECT_TRUE(
        toEnvironment(changed(properties(), "OverSubscribable", Value(true))).overSubscribable);
    EXPECT_EQ(environment.parking.state, "active");
}

TEST(Conversions, ReadWhatIsParked) {
    Properties parked = changed(properties(), "State", Value(std::string("parked")));
    parked = changed(parked, "ParkedDevices", Value(BusAttached{{2, 900}}));
    parked = changed(parked, "ParkedMemory", Value(std::uint64_t{900}));
    parked = changed(parked, "ParkedSince", Value(std::uint64_t{7}));
    parked = changed(parked, "ParkedReason", Value(std::string("taken")));
    parked = changed(parked, "TakenBy", Value(std::string("bob")));
    parked = changed(parked, "ParkingProgress", Value(BusProgress{3, 900}));
    parked = changed(parked, "ParkingProblem", Value(std::string("no room")));
    const ParkingState state = toEnvironment(parked).parking;
    EXPECT_EQ(state.state, "parked");
    ASSERT_EQ(state.devices.size(), 1U);
    EXPECT_EQ(state.devices[0].device, 2U);
    EXPECT_EQ(state.devices[0].memoryBytes, 900U);
    EXPECT_EQ(state.memoryBytes, 900U);
    EXPECT_EQ(state.since, toTime(7));
    EXPECT_EQ(state.reason, "taken");
    EXPECT_EQ(state.takenBy, "bob");
    EXPECT_EQ(state.movedBytes, 3U);
    EXPECT_EQ(state.bytesToMove, 900U);
    EXPECT_EQ(state.problem, "no room");
    EXPECT_EQ(toEnvironment(changed(parked, "ParkedSince", Value(std::uint64_t{0}))).parking.since,
              std::nullopt);
}

TEST(Conversions, KnowTheNumbersThatMeanUnset) {
    Properties unset = properties();
    unset = changed(unset, "Name", Value(std::string()));
    unset = changed(unset, "Gpus", Value(std::uint32_t{0}));
    unset = changed(unset, "GpuMemory", Value(std::uint64_t{0}));
    const Configuration configuration = toEnvironment(unset).configuration;
    EXPECT_EQ(configuration.name, std::nullopt);
    EXPECT_EQ(configuration.gpus, std::nullopt);
    EXPECT_EQ(configuration.gpuMemoryBytes, std::nullopt);
}

Properties deviceProperties(std::uint32_t index) {
    Properties all = plainDevice(index);
    all = changed(all, "Attachments", Value(BusAttachments{{"7", 400, 5}, {"8", 0, 6}}));
    all = changed(all, "LockedBy", Value(std::string("8")));
    all = changed(all, "Health", Value(std::string("xid-79")));
    all = changed(all, "PowerLimit", Value(std::uint32_t{400'000}));
    return changed(all, "RefusedOpens", Value(std::uint64_t{4}));
}

TEST(Conversions, ReadADevice) {
    const DeviceState state = toDeviceState(deviceProperties(2));
    EXPECT_EQ(state.device.index, 2U);
    EXPECT_EQ(state.device.uuid, "GPU-a");
    EXPECT_EQ(state.device.model, "A100");
    EXPECT_EQ(state.device.totalMemoryBytes, 1000U);
    EXPECT_EQ(state.availableMemoryBytes, 600U);
    ASSERT_EQ(state.attachments.size(), 2U);
    EXPECT_EQ(state.attachments[0].environment, "7");
    EXPECT_EQ(state.attachments[0].device, 2U);
    EXPECT_EQ(state.attachments[0].shareBytes, 400U);
    EXPECT_EQ(state.attachments[0].since, toTime(5));
    EXPECT_EQ(state.attachments[1].shareBytes, std::nullopt);
    EXPECT_EQ(state.lockHolder, "8");
    EXPECT_EQ(state.health, "xid-79");
    EXPECT_EQ(state.usedMemoryBytes, 10U);
    EXPECT_EQ(state.sensors.utilizationPercent, 93U);
    EXPECT_EQ(state.sensors.temperatureCelsius, -1);
    EXPECT_EQ(state.sensors.powerMilliwatts, 250500U);
    EXPECT_EQ(state.sampledAt, toTime(9));
    EXPECT_EQ(state.sensors.powerLimitMilliwatts, 400'000U);
    EXPECT_EQ(state.refusedOpens, 4U);
}

TEST(Conversions, KnowTheNumbersThatMeanUnknown) {
    Properties unknown = deviceProperties(0);
    unknown = changed(unknown, "LockedBy", Value(std::string()));
    unknown = changed(unknown, "UsedMemory", Value(std::numeric_limits<std::uint64_t>::max()));
    unknown = changed(unknown, "Utilization", Value(std::numeric_limits<std::uint32_t>::max()));
    unknown = changed(unknown, "Temperature", Value(std::numeric_limits<std::int32_t>::max()));
    unknown = changed(unknown, "PowerUsage", Value(std::numeric_limits<std::uint64_t>::max()));
    unknown = changed(unknown, "SampledAt", Value(std::uint64_t{0}));
    const DeviceState state = toDeviceState(unknown);
    EXPECT_EQ(state.lockHolder, std::nullopt);
    EXPECT_EQ(state.usedMemoryBytes, std::nullopt);
    EXPECT_EQ(state.sensors.utilizationPercent, std::nullopt);
    EXPECT_EQ(state.sensors.temperatureCelsius, std::nullopt);
    EXPECT_EQ(state.sensors.powerMilliwatts, std::nullopt);
    EXPECT_EQ(state.sampledAt, std::nullopt);
}

TEST(Conversions, RefuseAnAnswerThatLacksSomethingOrHasAnotherType) {
    EXPECT_THROW(toEnvironment(without(properties(), "Devices")), sdbus::Error);
    Properties other = properties();
    other = changed(other, "Gpus", Value(std::string("two")));
    EXPECT_THROW(toEnvironment(other), sdbus::Error);
}

TEST(Conversions, KnowEnvironmentsByTheirPaths) {
    for (const char* id : {"1573", "a.b:c@d-e_f", "x"})
        EXPECT_EQ(environmentId(environmentPath(id)), id);
    EXPECT_EQ(environmentPath("a.b"), "/dev/genv/Manager/environment/a_2eb");
    EXPECT_EQ(environmentId("/dev/genv/Manager/device/0"), "");
}

TEST(Conversions, WriteTheDetailsOfNotices) {
    EXPECT_EQ(toText(variant(std::string("a"))), "a");
    EXPECT_EQ(toText(variant(std::uint32_t{7})), "7");
    EXPECT_EQ(toText(variant(std::vector<std::uint32_t>{1, 2})), "1,2");
    EXPECT_EQ(toText(variant(1.5)), "");
}

TEST(Conversions, ReadWhatAnEnforcementDid) {
    const Dictionary all{{"message", variant(std::string("m"))},
                         {"rule", variant(std::string("r"))},
                         {"user", variant(std::string("alice"))},
                         {"pid", variant(std::uint32_t{7})},
                         {"environment", variant(std::string("e"))},
                         {"devices", variant(std::vector<std::uint32_t>{0, 1})}};
    const Dictionary least{{"message", variant(std::string("n"))}};
    const auto actions = toActions(
        {BusActions::value_type("terminate", all), BusActions::value_type("failed", least)});
    ASSERT_EQ(actions.size(), 2U);
    EXPECT_EQ(actions[0].kind, "terminate");
    EXPECT_EQ(actions[0].rule, "r");
    EXPECT_EQ(actions[0].message, "m");
    EXPECT_EQ(actions[0].user, "alice");
    EXPECT_EQ(actions[0].pid, 7U);
    EXPECT_EQ(actions[0].environment, "e");
    EXPECT_EQ(actions[0].devices, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(actions[1].message, "n");
    EXPECT_EQ(actions[1].pid, std::nullopt);
    EXPECT_EQ(actions[1].environment, std::nullopt);
    EXPECT_TRUE(actions[1].devices.empty());

    EXPECT_THROW(toActions({BusActions::value_type("failed", Dictionary{})}), sdbus::Error);
}

TEST(Conversions, KnowTheLimitThatIsNone) {
    const auto limits = toLimits(
        {{"a", BusLimits::mapped_type(0, 1)}, {"b", BusLimits::mapped_type(UINT64_MAX, 2)}});
    EXPECT_EQ(limits.at("a").allowed, 0U);
    EXPECT_EQ(limits.at("a").used, 1U);
    EXPECT_EQ(limits.at("b").allowed, std::nullopt);
    EXPECT_EQ(limits.at("b").used, 2U);
}

TEST(Conversions, ReadIsolation) {
    using Indices = std::vector<std::uint32_t>;
    Dictionary properties{
        {"mode", variant(std::string("none"))}, {"wanted", variant(std::string("user"))},
        {"suspended", variant(true)},           {"trouble", variant(std::string("no gate"))},
        {"guarded", variant(Indices{0, 2})},    {"unguarded", variant(Indices{1})},
        {"open", variant(Indices{2})},          {"docker-user", variant(true)},
        {"render-nodes", variant(true)}};
    const IsolationState state = toIsolation(properties);
    EXPECT_EQ(state.mode, "none");
    EXPECT_EQ(state.wanted, "user");
    EXPECT_TRUE(state.suspended);
    EXPECT_EQ(state.trouble, "no gate");
    EXPECT_EQ(state.guarded, (Indices{0, 2}));
    EXPECT_EQ(state.unguarded, (Indices{1}));
    EXPECT_EQ(state.open, (Indices{2}));
    EXPECT_TRUE(state.dockerUser);
    EXPECT_TRUE(state.guardsRenderNodes);
    properties.erase("guarded");
    EXPECT_THROW(toIsolation(properties), sdbus::Error);
}

TEST(Conversions, ReadRefusedOpens) {
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    BusRefusedOpens rows;
    rows.emplace_back(1001U, 3U, "195:3", 7U, 9U, 4321U, "python3");
    rows.emplace_back(1002U, none, "195:9", 1U, 8U, 5U, "sh");
    const auto refusals = toRefusedOpens(rows);
    ASSERT_EQ(refusals.size(), 2U);
    EXPECT_EQ(refusals[0].uid, 1001U);
    EXPECT_EQ(refusals[0].device, 3U);
    EXPECT_EQ(refusals[0].node, "195:3");
    EXPECT_EQ(refusals[0].count, 7U);
    EXPECT_EQ(refusals[0].last, toTime(9));
    EXPECT_EQ(refusals[0].pid, 4321U);
    EXPECT_EQ(refusals[0].command, "python3");
    EXPECT_EQ(refusals[1].device, std::nullopt);
}

} // namespace
} // namespace genv::client
