// SPDX-License-Identifier: LGPL-2.1-or-later
// Waiting requests get devices in the order of the requests, whatever happens in between. No later
// request gets a device that an earlier one could use, and no request is forgotten.
#include "core/sentences/sentences.hpp"
#include "core/settings/caps.hpp"
#include "tests/core/queue_fixture.hpp"

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::CountWanted;
using core::ErrorCode;
using core::IndicesWanted;
using core::UuidsWanted;
using Indices = std::vector<core::DeviceIndex>;

constexpr auto nothing = ErrorCode::Internal;

TEST_F(Queueing, GivesWhatIsFreeAtOnce) {
    haveGpus(1);
    activate("10", alice);
    EXPECT_EQ(askCount("10", 1), std::nullopt);
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(Queueing, ServesInTheOrderOfAsking) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    askCount("20", 1);
    clock.pass(std::chrono::minutes{5});
    askCount("30", 1);
    scheduler.turn();
    EXPECT_EQ(waiting(), (std::vector<std::string>{"20", "30"}));
    EXPECT_TRUE(answers.empty());
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(devicesOf("20"), Indices{0});
    EXPECT_EQ(waiting(), std::vector<std::string>{"30"});
    detach("20");
    EXPECT_TRUE(isGranted("30"));
    const auto granted = emittedOf<core::WaitGranted>();
    ASSERT_EQ(granted.size(), 2U);
    EXPECT_EQ(granted[0].environment, "20");
    EXPECT_EQ(granted[0].waited, std::chrono::minutes{5});
    ASSERT_EQ(granted[0].devices.size(), 1U);
    expectNothingTwice(ledger);
}

TEST_F(Queueing, WaitsForADeviceThatAJobHoldsAndGivesItWhenTheJobEnds) {
    haveGpus(2);
    activate("10", alice);
    activate("20", alice);
    ledger.startJob({12, bob, "bob", {"GPU-0"}}); // not listed in Devices= of [Slurm]
    EXPECT_EQ(attachNow("10", {core::CountWanted{2}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(attachNow("10", {core::CountWanted{2}, {}, {}, true}), ErrorCode::DeviceUnavailable)
        << "nor shared";
    askCount("10", 2);
    ask("20", {core::IndicesWanted{{0}}, {}, {}, false});
    scheduler.turn();
    EXPECT_EQ(waiting(), (std::vector<std::string>{"10", "20"}));
    ledger.deactivate("slurm-12", root);
    scheduler.turn();
    EXPECT_TRUE(isGranted("10"));
    EXPECT_EQ(devicesOf("10"), (Indices{0, 1}));
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(devicesOf("20"), Indices{0});
    expectNothingTwice(ledger);
}

TEST_F(Queueing, EndsAWaitForADeviceThatBecameSlurms) {
    haveGpus(2);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 2);
    ask("20", {core::IndicesWanted{{0}}, {}, {}, false});
    ask("30", {core::IndicesWanted{{1}}, {}, {}, false});
    scheduler.turn();
    ledger.reserve({false, {"GPU-0"}});
    queue.settingsChanged();
    scheduler.turn();
    EXPECT_EQ(answers["20"],
              (std::vector<std::optional<core::ErrorCode>>{core::ErrorCode::DeviceUnavailable}));
    EXPECT_EQ(reasons["20"], "GPU 0 is Slurm's: use \"srun --gpus=1 COMMAND\"");
    EXPECT_EQ(waiting(), std::vector<std::string>{"30"});
}

TEST_F(Queueing, TellsWhenAWaitBeginsAndHowItEnded) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30", "40", "50"})
        activate(id, alice);
    attachCount("10", 1);
    ask("20", {CountWanted{1}, {}, {}, false}, std::chrono::seconds{60});
    const auto cancelled = askCount("30", 1);
    askCount("40", 1);
    askCount("50", 1);
    scheduler.turn();
    const auto started = emittedOf<core::WaitStarted>();
    ASSERT_EQ(started.size(), 4U);
    EXPECT_EQ(started[0].environment, "20");
    EXPECT_EQ(started[0].count, 1U);
    EXPECT_EQ(started[0].actor, alice);
    EXPECT_EQ(started[0].since, clock.wallNow());

    clock.pass(std::chrono::minutes{1});
    scheduler.pass(std::chrono::minutes{1});
    queue.cancel(*cancelled);
    ledger.end("40", {core::Reason::admin(), bob});
    limits.maxDevices = 0;
    detach("10");
    const auto ended = emittedOf<core::WaitEnded>();
    std::map<std::string, std::string> ends;
    for (const core::WaitEnded& event : ended)
        ends[event.environment] = event.cause.reason.text();
    EXPECT_EQ(ends,
              (std::map<std::string, std::string>{
                  {"20", "timeout"}, {"30", "cancelled"}, {"40", "admin"}, {"50", "refused"}}));
    EXPECT_EQ(ended.size(), 4U);
    EXPECT_EQ(ended[0].waited, std::chrono::minutes{1});
    EXPECT_EQ(ended[0].count, 1U);
    EXPECT_TRUE(emittedOf<core::WaitGranted>().empty());
}

TEST_F(Queueing, TellsWhoWaitsThatTheWaitWasCancelledAndEverybodyByWhom) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    const auto first = askCount("20", 1);
    askCount("30", 1);
    scheduler.turn();
    emitted.clear();
    queue.dismiss(*first, bob, "the wait was cancelled by bob (1002)");
    EXPECT_EQ(refusalOf("20"), core::ErrorCode::DeviceUnavailable);
    EXPECT_EQ(reasons["20"], "the wait was cancelled by bob (1002)");
    EXPECT_EQ(waiting(), std::vector<std::string>{"30"});
    const auto ended = emittedOf<core::WaitEnded>();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].cause.reason, core::Reason::cancelled());
    EXPECT_EQ(ended[0].cause.actor, bob);
    EXPECT_EQ(codeOf([&] { queue.dismiss(*first, bob, "again"); }), core::ErrorCode::NoSuchWait);
    detach("10");
    EXPECT_TRUE(isGranted("30"));
}

TEST_F(Queueing, TellsTheEndOfAWaitBeforeThatOfItsEnvironment) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    const core::Plan plan = queue.placeOrWait({CountWanted{1}, {}, {}, false}, nullptr);
    ledger.activate(newEnvironment("20", bob, 20), plan, bob);
    const auto ticket = ledger.get("20").waits.back().ticket;
    await(queue, "20", ticket);
    scheduler.turn();
    emitted.clear();
    queue.cancel(ticket);
    const auto ended = emittedOf<core::WaitEnded>();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].cause.reason, core::Reason::cancelled());
    EXPECT_TRUE(std::holds_alternative<core::WaitEnded>(emitted.front()));
    EXPECT_TRUE(std::holds_alternative<core::EnvironmentRemoved>(emitted.back()));
}

TEST_F(Queueing, KeepsWhatIsFreeForTheEarliestThatCanUseIt) {
    haveGpus(4);
    for (const char* id : {"10", "20", "30", "40"})
        activate(id, alice);
    attachIndices("10", {0, 1});
    askCount("20", 3); // two are free, which is not enough
    scheduler.turn();
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(attachNow("30", {IndicesWanted{{2}}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(reasons["30"].find("Device 2 is not available: it is kept for a waiting request"), 0U)
        << reasons["30"];
    EXPECT_EQ(attachNow("30", {UuidsWanted{{"GPU-3"}}, {}, {}, true}), ErrorCode::DeviceUnavailable)
        << "nor for those who share";
    askCount("40", 1);
    scheduler.turn();
    EXPECT_FALSE(answers.contains("40")) << "a later waiter is served with nothing of it";
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_TRUE(isGranted("40"));
    EXPECT_EQ(devicesOf("20").size() + devicesOf("40").size(), 4U);
}

TEST_F(Queueing, LetsALaterOneHaveWhatTheEarlierCannotUse) {
    core::Observation mixed = gpus(2);
    mixed.devices[1].facts.model = "NVIDIA GeForce RTX 2080 Ti";
    ledger.observed(mixed);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachIndices("10", {0});
    ask("20", {CountWanted{1}, "a100", {}, false});
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, {}, false}), nothing);
    EXPECT_EQ(devicesOf("30"), Indices{1});
}

TEST_F(Queueing, KeepsSharesFreeToo) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1, gigabytes(10)); // 6 of 16 are free
    ask("20", {CountWanted{1}, {}, gigabytes(8), false});
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, gigabytes(1), false}),
              ErrorCode::DeviceUnavailable);
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, gigabytes(8), false}), nothing);
    expectNothingTwice(ledger);
}

TEST_F(Queueing, KeepsWhatIsLeftOfASharedDevice) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1, gigabytes(4));
    askCount("20", 1); // the whole device; otherwise small shares could come and go for ever
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, gigabytes(1), false}),
              ErrorCode::DeviceUnavailable);
    detach("10");
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(Queueing, LeavesSharingAHeldDeviceToThoseWhoAskForIt) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    askCount("20", 1);
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, {}, true}), nothing);
    EXPECT_EQ(devicesOf("30"), Indices{0});
}

TEST_F(Queueing, NamesThoseWhoHoldWhatIsWanted) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1);
    EXPECT_EQ(attachNow("20", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(reasons["20"], "No available devices: user1001 holds GPU 0 (environment 10) since " +
                                 core::nameTime(clock.wallNow()));
}

TEST_F(Queueing, RefusesMoreThanTheMachineHasAtOnce) {
    haveGpus(2);
    activate("10", alice);
    EXPECT_THROW(askCount("10", 3), core::Error);
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(Queueing, RefusesThoseWhoWaitForWhatIsGone) {
    haveGpus(2);
    activate("10", alice);
    activate("20", alice);
    attachIndices("10", {0});
    askCount("20", 2);
    scheduler.turn();
    haveGpus(1);
    scheduler.turn();
    EXPECT_EQ(refusalOf("20"), ErrorCode::NotEnoughDevices);
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(Queueing, EndsAWaitThatLastsTooLong) {
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1);
    ask("20", {CountWanted{1}, {}, {}, false}, std::chrono::minutes{10});
    scheduler.pass(std::chrono::minutes{9});
    EXPECT_TRUE(answers.empty());
    scheduler.pass(std::chrono::minutes{1});
    EXPECT_EQ(refusalOf("20"), ErrorCode::Timeout);
    EXPECT_EQ(reasons["20"], "no device became free within 10min");
    EXPECT_TRUE(ledger.waits().empty());
    EXPECT_NE(ledger.find("20"), nullptr) << "the environment was there before";
}

TEST_F(Queueing, ForgetsWhoCancels) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    const auto ticket = askCount("20", 1);
    askCount("30", 1);
    queue.cancel(*ticket);
    detach("10");
    EXPECT_FALSE(answers.contains("20"));
    EXPECT_TRUE(isGranted("30"));
}

TEST_F(Queueing, TellsThoseWhoseEnvironmentEnds) {
    haveGpus(1);
    activate("10", alice);
    activate("20", alice);
    attachCount("10", 1);
    askCount("20", 1);
    processes.exit(20);
    scheduler.turn();
    EXPECT_EQ(refusalOf("20"), ErrorCode::NoSuchEnvironment);
    EXPECT_TRUE(ledger.waits().empty());
}

TEST_F(Queueing, ChecksTheLimitsAgainWhenItServes) {
    haveGpus(2);
    for (const char* id : {"10", "20", "30"})
        activate(id, id == std::string("10") ? bob : alice);
    attachIndices("10", {0});
    attachIndices("20", {1});
    ask("30", {IndicesWanted{{0}}, {}, {}, false});
    limits.maxDevices = 1;
    detach("10");
    EXPECT_EQ(refusalOf("30"), ErrorCode::QuotaExceeded);
    EXPECT_EQ(devicesOf("30"), Indices{});
}

TEST_F(Queueing, SparesWhatWasAllowedOverALimit) {
    haveGpus(1);
    activate("10", bob);
    activate("20", alice);
    attachCount("10", 1);
    ask("20", {CountWanted{1}, {}, {}, false}, {}, {true, std::nullopt});
    limits.maxDevices = 0;
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_TRUE(ledger.get("20").attachments.at(0).exempt);
}

TEST_F(Queueing, CountsWhatAUserWaitsFor) {
    haveGpus(1);
    activate("10", bob);
    attachCount("10", 1);
    activate("20", alice);
    for (std::size_t i = 0; i < core::caps::waitsPerUser; ++i) {
        EXPECT_NO_THROW(queue.requireRoom(alice, alice));
        askCount("20", 1);
    }
    EXPECT_THROW(queue.requireRoom(alice, alice), core::Error);
    EXPECT_NO_THROW(queue.requireRoom(bob, bob)) << "others are served";
    EXPECT_NO_THROW(queue.requireRoom(alice, 0)) << "root is exempt";
}

TEST_F(Queueing, BeginsALeaseWhenItServes) {
    haveGpus(1);
    activate("10", bob);
    activate("20", alice);
    attachCount("10", 1);
    ask("20", {CountWanted{1}, {}, {}, false}, {}, {false, std::chrono::hours{1}});
    clock.pass(std::chrono::hours{3});
    detach("10");
    const auto lease = ledger.get("20").attachments.at(0).lease;
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->until, clock.bootNow() + std::chrono::hours{1});
}

TEST_F(Queueing, KeepsServingWhenAGrantCannotBeWritten) {
    haveGpus(1);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attachCount("10", 1);
    askCount("20", 1);
    askCount("30", 1);
    scheduler.turn();
    ledger.detach("10", {}, alice);
    store.writesUntilFailure = 0; // the disk is full
    scheduler.turn();
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(waiting(), (std::vector<std::string>{"20", "30"})) << "nobody is passed meanwhile";
    store.writesUntilFailure = -1;
    scheduler.pass(std::chrono::seconds{1});
    scheduler.turn();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_FALSE(answers.contains("30"));
}

TEST_F(Queueing, KeepsThePlaceOfARequestThatTheKernelDoesNotTakeOver) {
    struct Guard : core::AccessGuard {
        bool fails = false;
        void open(core::Uid /*user*/, const core::DeviceUuid& /*device*/) override {
            if (fails)
                core::fail(ErrorCode::IsolationFailed, "the kernel's table for it is full");
        }
        void close(core::Uid /*user*/, const core::DeviceUuid& /*device*/) noexcept override {}
    } guard;
    ledger.guardBy(&guard);
    haveGpus(1);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 1);
    askCount("20", 1);
    scheduler.turn();
    guard.fails = true;
    ledger.detach("10", {}, alice);
    scheduler.turn();
    EXPECT_TRUE(answers.empty());
    EXPECT_EQ(waiting(), std::vector<std::string>{"20"});
    guard.fails = false;
    scheduler.pass(std::chrono::seconds{1});
    scheduler.turn();
    EXPECT_TRUE(isGranted("20"));
    ledger.guardBy(nullptr);
}

TEST_F(Queueing, KeepsADeviceThatSomebodyWaitsForByItsUuid) {
    haveGpus(2);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    attach("10", {UuidsWanted{{"GPU-1"}}, {}, gigabytes(10), false}); // 6 of 16 are free
    ask("20", {UuidsWanted{{"GPU-1"}}, {}, {}, false});
    EXPECT_EQ(attachNow("30", {UuidsWanted{{"GPU-1"}}, {}, gigabytes(1), false}),
              ErrorCode::DeviceUnavailable)
        << "or small shares could come and go for ever";
    EXPECT_NE(reasons["30"].find("holds it"), std::string::npos) << reasons["30"];
    EXPECT_EQ(reasons["30"].find("GPU 0"), std::string::npos) << reasons["30"];
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, {}, false}), nothing) << "the other one is free";
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(devicesOf("20"), Indices{1});
}

TEST_F(Queueing, NamesAHolderOfManyDevicesOnce) {
    haveGpus(6);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 4);
    const std::string since = core::nameTime(clock.wallNow());
    clock.pass(std::chrono::hours{1});
    attach("10", {IndicesWanted{{5}}, {}, {}, false});
    attach("20", {IndicesWanted{{4}}, {}, {}, false});
    const std::string later = core::nameTime(clock.wallNow());
    activate("30", bob);
    EXPECT_EQ(attachNow("30", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(reasons["30"],
              "No available devices: user1001 holds GPUs 0-3 (environment 10) since " + since +
                  ", user1002 holds GPU 4 (environment 20) since " + later +
                  ", user1001 holds GPU 5 (environment 10) since " + later);
    EXPECT_EQ(attachNow("30", {IndicesWanted{{5}}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(reasons["30"],
              "Device 5 is not available: user1001 holds it (environment 10) since " + later);
}

TEST_F(Queueing, NamesAFewOfManyHolders) {
    haveGpus(6);
    activate("90", bob);
    for (const std::uint32_t index : {0U, 1U, 2U, 3U, 4U, 5U}) {
        activate(std::to_string(10 + index), alice);
        attach(std::to_string(10 + index), {IndicesWanted{{index}}, {}, {}, false});
    }
    EXPECT_EQ(attachNow("90", {CountWanted{1}, {}, {}, false}), ErrorCode::DeviceUnavailable);
    EXPECT_NE(reasons["90"].find("holds GPU 3"), std::string::npos) << reasons["90"];
    EXPECT_EQ(reasons["90"].find("holds GPU 4"), std::string::npos) << reasons["90"];
    EXPECT_TRUE(reasons["90"].ends_with(" and 2 more")) << reasons["90"];
}

TEST_F(Queueing, ServesAnEnvironmentThatLivesOnAJupyterKernelOnly) {
    haveGpus(1);
    activate("10", bob);
    attachCount("10", 1);
    processes.add(20, alice);
    core::NewEnvironment wanted{"20", alice, "alice", {}, {}, {}};
    wanted.jupyterKernels.push_back({"abc", core::adopt(processes.pin(20), alice, alice)});
    ledger.activate(std::move(wanted), std::nullopt, alice);
    askCount("20", 1);
    detach("10");
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(Queueing, GivesNothingToWhoHasExitedAndIsNotYetToldOf) {
    haveGpus(1);
    activate("10", alice);
    activate("30", alice);
    attachCount("10", 1);
    const auto dying = processes.add(20, alice);
    ledger.activate({"20", alice, "alice", {}, {core::adopt(processes.pin(20), alice, alice)}, {}},
                    std::nullopt, alice);
    askCount("20", 1);
    askCount("30", 1);
    dying->exited = true;
    detach("10");
    EXPECT_TRUE(answers.empty()) << "it is kept for whoever may live";
    processes.exit(20);
    scheduler.turn();
    EXPECT_EQ(refusalOf("20"), ErrorCode::NoSuchEnvironment);
    EXPECT_TRUE(isGranted("30"));
}

TEST_F(Queueing, SaysWhetherAPlacementIsStillToBeHad) {
    haveGpus(2);
    for (const char* id : {"10", "20", "30"})
        activate(id, alice);
    const core::Placement placement =
        queue.place({IndicesWanted{{0}}, {}, {}, false}, &ledger.get("10"));
    EXPECT_TRUE(queue.stillHolds(placement, &ledger.get("10")));
    attachIndices("20", {1});
    askCount("30", 2); // keeps device 0 from now on
    scheduler.turn();
    EXPECT_FALSE(queue.stillHolds(placement, &ledger.get("10")))
        << "somebody who waits comes before a password that took its time";
}

} // namespace
} // namespace genv::tests
