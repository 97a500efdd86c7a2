// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/service_frame.hpp"
#include "tests/top/frames.hpp"

#include <gtest/gtest.h>

namespace genv::top::tests {
namespace {

constexpr Time moment{std::chrono::hours{500000}};

MachineEnvironment environmentOf(const std::string& id, std::uint32_t uid) {
    MachineEnvironment entry;
    entry.environment.id = id;
    entry.environment.uid = uid;
    entry.environment.user = uid == aliceUid ? "alice" : "bob";
    entry.environment.created = moment - std::chrono::hours{1};
    entry.environment.configuration.name = "name of " + id;
    entry.environment.devices = {0};
    return entry;
}

/// GPU 0 is held by alice's environment 7, with a lease. Environment 8, a child of 7, has a part of
/// it.
ServiceView oneGpu() {
    ServiceView view;
    MachineDevice device;
    device.state.device = {0, "GPU-0", "Model", 1000};
    device.state.health = "ok";
    device.state.sampledAt = moment;
    device.state.attachments = {{0, "7", {}, {}, moment}, {0, "8", {}, 500, moment}};
    device.pciAddress = "0000:65:00.0";
    view.machine.devices = {device};
    view.machine.environments = {environmentOf("7", aliceUid), environmentOf("8", aliceUid)};
    view.machine.environments[0].attached = {{0, moment + std::chrono::hours{1}}};
    view.machine.environments[1].parent = "7";
    view.machine.driverVersion = "550";
    view.queue = {{}};
    view.queue[0].entry = {3, "7", aliceUid, 2, moment};
    view.queue[0].user = "alice";
    return view;
}

Observer alice() {
    return {aliceUid, "", client::NamedEnvironment{"7", ""}};
}

TEST(TopServiceFrame, SaysWhichQuotaARequestWaitsForOrWhenItIsExpectedToStart) {
    ServiceView view = oneGpu();
    EXPECT_EQ(frameOf(view, {}, alice(), moment).waiters.at(0).reason, "");
    view.queue[0].expectedStart = moment;
    EXPECT_EQ(frameOf(view, {}, alice(), moment).waiters.at(0).reason.substr(0, 6), "about ");
    view.queue[0].hold = {"MaxDevicesPerUser", 2, 2};
    EXPECT_EQ(frameOf(view, {}, alice(), moment).waiters.at(0).reason, "quota (MaxDevicesPerUser)");
}

TEST(TopServiceFrame, JoinsDevicesWithTheirHolders) {
    const Frame frame = frameOf(oneGpu(), {}, alice(), moment);
    ASSERT_EQ(frame.gpus.size(), 1);
    ASSERT_EQ(frame.gpus[0].holders.size(), 1);
    const Holder& holder = frame.gpus[0].holders[0];
    EXPECT_EQ(holder.environment, "7");
    EXPECT_EQ(holder.user, "alice");
    EXPECT_EQ(holder.name, "name of 7");
    EXPECT_EQ(holder.expires, moment + std::chrono::hours{1});
    ASSERT_EQ(frame.gpus[0].parts.size(), 1);
    EXPECT_EQ(frame.gpus[0].parts[0].parent, "7");
    ASSERT_EQ(frame.waiters.size(), 1);
    EXPECT_EQ(frame.waiters[0].wanted, "2 GPUs");
    EXPECT_EQ(frame.waiters[0].user, "alice");
    EXPECT_FALSE(frame.isEmpty);
}

TEST(TopServiceFrame, TakesFromTheServiceWhichGpusAreFree) {
    ServiceView view = oneGpu();
    EXPECT_FALSE(frameOf(view, {}, alice(), moment).gpus[0].isFree);
    view.machine.devices[0].state.attachments.clear();
    view.conditions[0] = {false, 37ULL << 30U};
    Frame frame = frameOf(view, {}, alice(), moment);
    EXPECT_FALSE(frame.gpus[0].isFree) << "although nobody holds it";
    EXPECT_EQ(frame.gpus[0].unaccountedBytes, 37ULL << 30U);
    view.conditions[0] = {true, 0};
    EXPECT_TRUE(frameOf(view, {}, alice(), moment).gpus[0].isFree);
}

TEST(TopServiceFrame, DoesNotInventAnUnknownTotal) {
    ServiceView view = oneGpu();
    view.machine.devices[0].state.device.totalMemoryBytes = 0;
    EXPECT_EQ(frameOf(view, {}, alice(), moment).gpus[0].totalMemoryBytes, std::nullopt);
}

TEST(TopServiceFrame, KnowsTheEnvironmentOfTheShell) {
    Frame frame = frameOf(oneGpu(), {}, alice(), moment);
    ASSERT_EQ(frame.own.size(), 2);
    EXPECT_TRUE(frame.own[0].isActive);
    EXPECT_FALSE(frame.own[1].isActive);
    // Another environment has had the id since.
    frame = frameOf(oneGpu(), {}, {aliceUid, "", client::NamedEnvironment{"7", "12"}}, moment);
    EXPECT_FALSE(frame.own[0].isActive);
    EXPECT_TRUE(frameOf(oneGpu(), {}, {bobUid, "", {}}, moment).own.empty());
}

TEST(TopServiceFrame, AHolderThatEndedMeanwhileIsStillNamed) {
    ServiceView view = oneGpu();
    view.machine.environments.clear();
    const Frame frame = frameOf(view, {}, alice(), moment);
    ASSERT_EQ(frame.gpus[0].holders.size(), 2);
    EXPECT_EQ(frame.gpus[0].holders[0].environment, "7");
    EXPECT_EQ(frame.waiters[0].user, "alice");
}

TEST(TopServiceFrame, SumsUpTheGpusOfAProcess) {
    ServiceView view = oneGpu();
    view.processes = {{12, bobUid, "bob", {}, "miner", {{0, 100, 20}, {1, {}, 60}}, moment}};
    const Frame frame = frameOf(view, {}, alice(), moment);
    ASSERT_EQ(frame.processes.size(), 1);
    EXPECT_EQ(frame.processes[0].gpus, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(frame.processes[0].memoryBytes, 100);
    EXPECT_EQ(frame.processes[0].utilizationPercent, 60);
}

TEST(TopServiceFrame, OldReadingsAreTold) {
    EXPECT_EQ(frameOf(oneGpu(), {}, alice(), moment).trouble, "");
    EXPECT_EQ(frameOf(oneGpu(), {}, alice(), moment + std::chrono::minutes{1}).trouble,
              "The driver does not answer: readings are 1min old");
}

TEST(TopServiceFrame, SaysThatTheProcessesAreNotKnown) {
    ServiceView view = oneGpu();
    view.processTrouble = "Connection timed out";
    EXPECT_EQ(frameOf(view, {}, alice(), moment).trouble,
              "The processes are not known: Connection timed out");
    const Frame later = frameOf(view, {}, alice(), moment + std::chrono::minutes{1});
    EXPECT_TRUE(later.trouble.starts_with("The driver does not answer")) << later.trouble;
    EXPECT_EQ(later.gpus.size(), 1);
}

} // namespace
} // namespace genv::top::tests
