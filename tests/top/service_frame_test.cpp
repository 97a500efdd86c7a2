// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/service_frame.hpp"
#include "tests/top/frames.hpp"

#include <gtest/gtest.h>

namespace genv::top::tests {
namespace {

constexpr Time moment{std::chrono::hours{500000}};

genv::Environment environmentOf(const std::string& id, std::uint32_t uid) {
    genv::Environment environment;
    environment.id = id;
    environment.uid = uid;
    environment.user = uid == aliceUid ? "alice" : "bob";
    environment.created = moment - std::chrono::hours{1};
    environment.configuration.name = "name of " + id;
    environment.devices = {0};
    return environment;
}

/// GPU 0 is held by alice's environment 7, with a lease. Environment 8, a child of 7, has a part of
/// it.
ServiceView oneGpu() {
    ServiceView view;
    DeviceState device;
    device.device = {0, "GPU-0", "Model", 1000};
    device.health = "ok";
    device.sampledAt = moment;
    device.attachments = {{0, "7", {}, {}, moment}, {0, "8", {}, 500, moment}};
    device.pciAddress = "0000:65:00.0";
    view.machine.devices = {device};
    view.machine.environments = {environmentOf("7", aliceUid), environmentOf("8", aliceUid)};
    view.machine.environments[0].attached = {{0, moment + std::chrono::hours{1}}};
    view.machine.environments[1].parent = "7";
    view.machine.driverVersion = "550";
    view.queue = {{}};
    view.queue[0].description.entry = {3, "7", aliceUid, 2, moment};
    view.queue[0].description.user = "alice";
    return view;
}

Viewer alice() {
    return {aliceUid, "", client::NamedEnvironment{"7", ""}};
}

TEST(TopServiceFrame, SaysWhichQuotaARequestWaitsForOrWhenItIsExpectedToStart) {
    ServiceView view = oneGpu();
    EXPECT_EQ(frameOf(view, {}, alice(), moment).waiters.at(0).reason, "");
    view.queue[0].description.expectedStart = moment;
    EXPECT_EQ(frameOf(view, {}, alice(), moment).waiters.at(0).reason.substr(0, 6), "about ");
    view.queue[0].description.hold = {"MaxDevicesPerUser", 2, 2};
    EXPECT_EQ(frameOf(view, {}, alice(), moment).waiters.at(0).reason, "quota (MaxDevicesPerUser)");
}

TEST(TopServiceFrame, ShowsWhatIsParkedAndWhatMoves) {
    ServiceView view = oneGpu();
    EXPECT_TRUE(frameOf(view, {}, alice(), moment).parked.empty());
    ParkingState& parking = view.machine.environments[0].parking;
    parking.state = "parking";
    parking.movedBytes = 3ULL << 30U;
    parking.bytesToMove = 12ULL << 30U;
    Frame frame = frameOf(view, {}, alice(), moment);
    ASSERT_EQ(frame.parked.size(), 1);
    EXPECT_EQ(frame.parked[0].gpus, std::vector<std::uint32_t>{0}) << "it still has it";
    EXPECT_EQ(frame.parked[0].bytesToMove, 12ULL << 30U);
    EXPECT_EQ(frame.gpus[0].holders.at(0).parking, "parking");
    view.machine.devices[0].attachments.clear();
    view.machine.environments[0].devices.clear();
    parking = {"parked", {{3, 5}}, 12ULL << 30U, moment, "user", "", 0, 0, "GPU 3 is taken"};
    frame = frameOf(view, {}, alice(), moment);
    EXPECT_EQ(frame.parked.at(0).gpus, std::vector<std::uint32_t>{3});
    EXPECT_EQ(frame.parked[0].name, "name of 7");
    EXPECT_EQ(frame.parked[0].memoryBytes, 12ULL << 30U);
    EXPECT_EQ(frame.parked[0].since, moment);
    EXPECT_EQ(frame.parked[0].problem, "GPU 3 is taken");
}

TEST(TopServiceFrame, ShowsLoansAndForWhomTheyAreParked) {
    ServiceView view = oneGpu();
    genv::Environment& lent = view.machine.environments[0];
    lent.preemptible = "park";
    view.queue[0].taking =
        Taking{{{"8", "training", "carol", 12ULL << 30U}}, {0}, std::chrono::seconds{6}, {}};
    Frame frame = frameOf(view, {}, alice(), moment);
    EXPECT_TRUE(frame.gpus[0].holders.at(0).isOnLoan);
    EXPECT_EQ(frame.waiters.at(0).reason,
              "parking \"training\" of carol for GPU 0: 12 GiB, about 6 s");
    lent.parking = {"parked", {{0, 5}}, 5, moment, "taken", "bob", 0, 0, ""};
    view.queue[0].taking.reset();
    view.queue[0].resumes = true;
    view.queue[0].description.expectedStart = moment;
    frame = frameOf(view, {}, alice(), moment);
    EXPECT_EQ(frame.parked.at(0).takenBy, "bob");
    EXPECT_EQ(frame.parked[0].reason, "taken");
    EXPECT_EQ(frame.parked[0].expected, moment);
    EXPECT_EQ(frame.waiters.at(0).reason.find("goes on about "), 0U) << frame.waiters[0].reason;
}

TEST(TopServiceFrame, JoinsDevicesWithTheirHolders) {
    const Frame frame = frameOf(oneGpu(), {}, alice(), moment);
    ASSERT_EQ(frame.gpus.size(), 1);
    ASSERT_EQ(frame.gpus[0].holders.size(), 1);
    const GpuHolder& holder = frame.gpus[0].holders[0];
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
    view.machine.devices[0].attachments.clear();
    view.machine.devices[0].unaccountedMemoryBytes = 37ULL << 30U;
    Frame frame = frameOf(view, {}, alice(), moment);
    EXPECT_FALSE(frame.gpus[0].isFree) << "although nobody holds it";
    EXPECT_EQ(frame.gpus[0].unaccountedBytes, 37ULL << 30U);
    view.machine.devices[0].isFree = true;
    EXPECT_TRUE(frameOf(view, {}, alice(), moment).gpus[0].isFree);
}

TEST(TopServiceFrame, DoesNotInventAnUnknownTotal) {
    ServiceView view = oneGpu();
    view.machine.devices[0].device.totalMemoryBytes = 0;
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
