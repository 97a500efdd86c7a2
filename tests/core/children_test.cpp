// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments within environments: a child holds some of its parent's devices, nobody else has
// less because of it, and it loses each device that its parent loses.
#include "core/rules/evictor.hpp"
#include "core/settings/caps.hpp"
#include "tests/core/children_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using Children = ChildrenTest;

TEST_F(Children, TakeOfWhatTheirParentHoldsAndOfNothingElse) {
    holding("10", alice, {2, 3});
    start("10", "11", alice);
    EXPECT_EQ(devicesOf("11"), Indices{2});
    EXPECT_EQ(ledger.get("11").parent, "10");
    EXPECT_FALSE(ledger.get("11").attachments[0].overSubscribed);
    EXPECT_EQ(ledger.device(2).holders.size(), 1U) << "the parent alone";
    EXPECT_EQ(ledger.device(2).children.size(), 1U);
    expectNothingTwice(ledger);
    holding("20", bob, {0});
    attachCount("20", 2);
    EXPECT_EQ(devicesOf("20"), (Indices{0, 1})) << "others have what they had without it";
}

TEST_F(Children, HaveADeviceOneAtATime) {
    holding("10", alice, {2, 3});
    start("10", "11", alice);
    start("10", "12", alice);
    EXPECT_EQ(devicesOf("12"), Indices{3});
    const auto [code, why] = refusal([&] { start("10", "13", alice); });
    EXPECT_EQ(code, ErrorCode::DeviceUnavailable);
    EXPECT_EQ(why.substr(0, why.find(" since")),
              "No available devices: user1001 holds GPU 2 (environment 11)");
    EXPECT_EQ(ledger.find("13"), nullptr);
    start("10", "13", alice, count(1, std::nullopt, true));
    EXPECT_EQ(devicesOf("13"), Indices{2}) << "but for those that over-subscribe";
    EXPECT_TRUE(ledger.get("13").attachments[0].overSubscribed);
    processes.exit(12);
    start("10", "14", alice);
    EXPECT_EQ(devicesOf("14"), Indices{3}) << "a child that ends leaves it to the next one";
    EXPECT_EQ(devicesOf("10"), (Indices{2, 3}));
}

TEST_F(Children, AreRefusedAtOnceWhatTheirParentDoesNotHave) {
    holding("10", alice, {2, 3});
    EXPECT_EQ(refusal([&] { startInQueue("10", "11", alice, count(3)); }),
              (Refusal{ErrorCode::NotEnoughDevices,
                       "Requested more devices (3) than environment 10 has (2)"}))
        << "also where it would wait";
    EXPECT_EQ(
        refusal([&] {
            start("10", "11", alice, core::AttachRequest{core::IndicesWanted{{1}}, {}, {}, false});
        }),
        (Refusal{ErrorCode::NoSuchDevice,
                 "there is no device 1 in environment 10, which has 2, 3"}));
    EXPECT_EQ(refusal([&] {
                  start("10", "11", alice,
                        core::AttachRequest{core::UuidsWanted{{"GPU-1"}}, {}, {}, false});
              }).first,
              ErrorCode::NoSuchDevice);
    start("10", "11", alice);
    EXPECT_EQ(refusal([&] {
                  ledger.attach("11", core::place(count(3), ledger.devices(), &ledger.get("11")),
                                alice);
              }).first,
              ErrorCode::DeviceUnavailable)
        << "what was worked out by the machine's devices is no plan of a child's";
}

TEST_F(Children, MayHaveNoChildrenThemselves) {
    holding("10", alice, {2, 3});
    start("10", "11", alice);
    EXPECT_EQ(refusal([&] { ledger.activate(child("11", "12", alice), std::nullopt, alice); }),
              (Refusal{ErrorCode::InvalidArgs,
                       "environment 11 is within environment 10 itself, and has no room for "
                       "another one: environments are one level deep; start it within environment "
                       "10"}));
    EXPECT_EQ(
        refusal([&] { ledger.activate(child("77", "12", alice), std::nullopt, alice); }).first,
        ErrorCode::NoSuchEnvironment);
}

TEST_F(Children, LoseWhatTheirParentLosesBeforeItForTheSameReason) {
    holding("10", alice, {0, 1, 2});
    start("10", "11", alice, count(3));
    emitted.clear();
    ledger.detach("10", {0}, alice);
    EXPECT_EQ(detached(), (Words{"11/0 user", "10/0 user"}));
    emitted.clear();
    ledger.takeAway("10", "GPU-1", core::Cause::fact(core::Reason::rule("idle-timeout")));
    EXPECT_EQ(detached(), (Words{"11/1 rule:idle-timeout", "10/1 rule:idle-timeout"}));
    emitted.clear();
    haveGpus(2);
    EXPECT_EQ(detached(), (Words{"11/2 device-lost", "10/2 device-lost"}));
    EXPECT_TRUE(devicesOf("11").empty() && ledger.get("11").isAlive());
}

TEST_F(Children, LoseADeviceThatIsTakenFromEverybodyOnce) {
    holding("10", alice, {0});
    start("10", "11", alice);
    emitted.clear();
    ledger.detachDevice(0, std::nullopt, root);
    EXPECT_EQ(detached(), (Words{"11/0 admin", "10/0 admin"}));
    attachIndices("10", {0});
    ledger.attach("11", queue.place(count(1), &ledger.get("11")), alice);
    ledger.detachDevice(0, "11", root);
    EXPECT_EQ(devicesOf("10"), Indices{0}) << "what a child loses its parent keeps";
}

TEST_F(Children, EndBeforeTheirParentWhateverEndsIt) {
    const std::vector<std::pair<const char*, std::function<void()>>> ends{
        {"process-exit", [this] { processes.exit(10); }},
        {"user", [this] { ledger.deactivate("10", alice); }},
        {"admin", [this] { ledger.deactivate("10", root); }},
        {"expired", [this] { ledger.end("10", core::Cause::fact(core::Reason::expired())); }}};
    for (const auto& [why, end] : ends) {
        holding("10", alice, {0, 1});
        start("10", "11", alice);
        start("10", "12", alice);
        emitted.clear();
        end();
        const std::string reason = why;
        EXPECT_EQ(ended(), (Words{"11 " + reason, "12 " + reason, "10 " + reason}));
        EXPECT_TRUE(store.documents.empty());
        EXPECT_EQ(ledger.environmentOfRoot({11, 7}), nullptr);
    }
}

TEST_F(Children, StayWithTheirParentWhereItsEndCannotBeWritten) {
    holding("10", alice, {0});
    start("10", "11", alice);
    store.writesUntilFailure = 1; // the child's document is removed, the parent's cannot be
    store.maxFailures = 1;
    EXPECT_EQ(refusal([&] { ledger.deactivate("10", root); }).first, ErrorCode::StorageFailed);
    EXPECT_EQ(devicesOf("11"), Indices{0});
    EXPECT_TRUE(store.documents.contains("11")) << "it is written again";
}

TEST_F(Children, OfSomebodyElseHearThatTheOwnerOfTheirParentDidIt) {
    holding("10", alice, {0, 1});
    start("10", "11", bob);
    emitted.clear();
    ledger.detach("10", {}, alice);
    const auto all = emittedOf<core::Detached>();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].environment, "11");
    EXPECT_EQ(all[0].cause.reason, core::Reason::admin());
    EXPECT_TRUE(all[0].cause.endsProcesses);
    EXPECT_EQ(all[1].cause.reason, core::Reason::user());
}

TEST_F(Children, ShareAShareOfTheirParents) {
    holdingShares("10", alice, {0}, gigabytes(8));
    start("10", "11", alice, count(1, gigabytes(5)));
    EXPECT_EQ(ledger.device(0).availableMemory(), gigabytes(8)) << "what the parent left of 16";
    EXPECT_EQ(refusal([&] { start("10", "12", alice, count(1, gigabytes(4))); }).first,
              ErrorCode::DeviceUnavailable);
    start("10", "12", alice, count(1, gigabytes(3)));
    EXPECT_EQ(refusal([&] { start("10", "13", alice, count(1, gigabytes(9), true)); }).first,
              ErrorCode::NotEnoughDevices)
        << "more than the parent has of it";
    EXPECT_EQ(
        refusal([&] {
            start("10", "13", alice,
                  core::AttachRequest{core::IndicesWanted{{0}}, {}, gigabytes(9), true});
        }),
        (Refusal{ErrorCode::InvalidArgs,
                 "environment 10 has 8 GB of memory on device 0, less than the 9 GB wanted"}));
    processes.exit(11);
    processes.exit(12);
    start("10", "14", alice);
    EXPECT_EQ(ledger.get("14").attachments[0].share, gigabytes(8)) << "all of the share";
    EXPECT_EQ(refusal([&] { start("10", "15", alice, count(1, gigabytes(1))); }).first,
              ErrorCode::DeviceUnavailable);
}

TEST_F(Children, GetADeviceThatTheirParentUsesItselfLast) {
    holding("10", alice, {0, 1});
    sample(sampleOf(4, {worker(500, alice, {"GPU-0"}, "10")}));
    start("10", "11", alice);
    EXPECT_EQ(devicesOf("11"), Indices{1});
    const auto plan = queue.place(count(1), nullptr, std::nullopt, ledger.find("10"));
    EXPECT_EQ(plan.attach.at(0).facts.index, 0U);
    EXPECT_FALSE(plan.attach[0].occupied) << "the parent is no stranger there";
}

TEST_F(Children, MakeNoStrangersOfTheirParentsProcesses) {
    holding("10", alice, {0, 1});
    start("10", "11", alice);
    sample(sampleOf(4, {worker(500, alice, {"GPU-0"}, "10"), worker(501, alice, {"GPU-0"}, "11"),
                        worker(502, alice, {"GPU-1"}, "11")}));
    EXPECT_FALSE(ledger.device(0).occupied);
    EXPECT_FALSE(ledger.device(1).occupied) << "what a child uses beside its own is its parent's";
}

// -- limits and caps

TEST_F(Children, CountInNoLimitButAsTheirParents) {
    holding("10", alice, {0, 1});
    start("10", "11", alice, count(2));
    const core::Holdings holdings = core::holdingsOf(ledger, alice);
    EXPECT_EQ(holdings.environments, 1U);
    EXPECT_EQ(holdings.devices(), 2U);
    EXPECT_EQ(holdings.totalMemory(), gigabytes(32));
}

TEST_F(Children, CountTowardsTheCapOfEnvironments) {
    holding("10", alice, {0});
    for (std::size_t i = 1; i < core::caps::environmentsPerUser; ++i)
        start("10", std::to_string(100 + i), alice, std::nullopt);
    EXPECT_EQ(refusal([&] { start("10", "99", alice, std::nullopt); }).first,
              ErrorCode::LimitsExceeded);
}

TEST_F(Children, OfWhatWasGrantedOverALimitAreSparedAsItIs) {
    activate("10", alice);
    ledger.attach("10", planned("10", count(1)), root, {true, std::nullopt});
    start("10", "11", alice);
    EXPECT_TRUE(ledger.get("11").attachments[0].exempt);
}

// -- the queue

TEST_F(Children, WaitForEachOtherAndForNobodyElse) {
    holding("10", alice, {0, 1});
    holding("20", bob, {2, 3});
    startInQueue("10", "11", alice, count(2));
    startInQueue("10", "12", alice);
    startInQueue("10", "13", alice);
    EXPECT_EQ(waiting(), (Words{"12", "13"}));
    processes.exit(20);
    scheduler.turn();
    EXPECT_EQ(waiting(), (Words{"12", "13"})) << "free devices of the machine are none of theirs";
    activate("30", bob);
    EXPECT_EQ(attachNow("30", count(2)), ErrorCode::Internal) << "and are kept for none of them";
    detach("11");
    EXPECT_TRUE(isGranted("12") && isGranted("13"));
    EXPECT_EQ(devicesOf("12"), Indices{0});
    EXPECT_EQ(devicesOf("13"), Indices{1});
}

TEST_F(Children, AreNotHeldUpByThoseWhoWaitForTheMachinesDevices) {
    holding("10", alice, {0, 1});
    holding("20", bob, {2, 3});
    activate("30", bob);
    askCount("30", 4);
    startInQueue("10", "11", alice);
    EXPECT_EQ(devicesOf("11"), Indices{0});
    EXPECT_EQ(waiting(), Words{"30"});
}

TEST_F(Children, KeepTheirPlacesAmongThemselves) {
    holding("10", alice, {0, 1});
    start("10", "11", alice);
    startInQueue("10", "12", alice, count(2));
    EXPECT_EQ(refusal([&] { start("10", "13", alice); }).first, ErrorCode::DeviceUnavailable)
        << "the other device is kept for the one that waits";
    detach("11");
    EXPECT_TRUE(isGranted("12"));
}

TEST_F(Children, WaitNoLongerForWhatTheirParentHasNoMore) {
    holding("10", alice, {0, 1});
    start("10", "11", alice, count(2));
    startInQueue("10", "12", alice, count(2));
    startInQueue("10", "13", alice);
    ledger.detach("10", {0}, alice);
    scheduler.turn();
    EXPECT_EQ(refusalOf("12"), ErrorCode::NotEnoughDevices);
    EXPECT_EQ(reasons["12"], "Requested more devices (2) than environment 10 has (1)");
    EXPECT_EQ(ledger.find("12"), nullptr) << "it was started by what it waited for";
    EXPECT_EQ(waiting(), Words{"13"});
}

TEST_F(Children, WaitNoLongerThanTheirParentIs) {
    holding("10", alice, {0});
    start("10", "11", alice);
    startInQueue("10", "12", alice);
    ledger.deactivate("10", alice);
    scheduler.turn();
    EXPECT_EQ(refusalOf("12"), ErrorCode::NoSuchEnvironment);
    EXPECT_TRUE(waiting().empty());
}

TEST_F(Children, GetWhatTheirParentGetsLater) {
    holding("10", alice, {0});
    start("10", "11", alice);
    startInQueue("10", "12", alice);
    attachCount("10", 2);
    scheduler.turn();
    EXPECT_EQ(devicesOf("12"), Indices{1});
}

TEST_F(Children, AreNotRefusedByTheLimitsOfTheirOwner) {
    holding("10", alice, {0, 1});
    start("10", "11", alice, count(2));
    limits.maxDevices = 1;
    startInQueue("10", "12", alice);
    detach("11");
    EXPECT_TRUE(isGranted("12"));
}

// -- Slurm's jobs

class ChildrenOfJobs : public ChildrenTest {
  protected:
    ChildrenOfJobs() {
        ledger.reserve({false, {"GPU-0", "GPU-1", "GPU-2"}});
        startJob({"GPU-0", "GPU-1"});
    }
    void startJob(std::vector<core::DeviceUuid> devices, core::SlurmJobId id = 12) {
        core::NewSlurmJob job{id, alice, "alice", std::move(devices)};
        job.evict = true;
        ledger.startJob(job);
    }
};

TEST_F(ChildrenOfJobs, TakeOfTheJobsDevicesAndAreTheirOwnersToChange) {
    start("slurm-12", "11", alice, count(2));
    EXPECT_EQ(devicesOf("11"), (Indices{0, 1})) << "also where they are Slurm's to give";
    ledger.detach("11", {1}, alice);
    ledger.configure("11", {"task", std::nullopt, std::nullopt}, alice);
    ledger.attach("11", queue.place(count(2), &ledger.get("11")), alice);
    EXPECT_EQ(devicesOf("11"), (Indices{0, 1}));
    EXPECT_EQ(refusal([&] { ledger.detach("slurm-12", {0}, alice); }).first,
              ErrorCode::NotSupported);
    ledger.deactivate("11", alice);
    EXPECT_EQ(ledger.find("11"), nullptr);
}

TEST_F(ChildrenOfJobs, AreEvictedByNoJobAndLoseWhatTheirJobLoses) {
    start("slurm-12", "11", alice, count(2));
    startJob({"GPU-0", "GPU-1"}, 13); // the job shares them, as Slurm reports
    EXPECT_EQ(devicesOf("11"), (Indices{0, 1}));
    emitted.clear();
    startJob({"GPU-1"});
    EXPECT_EQ(detached(), (Words{"11/0 job", "slurm-12/0 job"}));
}

TEST_F(ChildrenOfJobs, EndWithTheJob) {
    start("slurm-12", "11", alice);
    startInQueue("slurm-12", "13", alice, count(2));
    emitted.clear();
    ledger.deactivate("slurm-12", root);
    EXPECT_EQ(ended(), (Words{"11 job", "13 job", "slurm-12 job"}));
}

TEST_F(ChildrenOfJobs, EndWithAJobWhoseNumberAnotherGets) {
    start("slurm-12", "11", alice);
    core::NewSlurmJob other{12, bob, "bob", {"GPU-0"}};
    ledger.startJob(other);
    EXPECT_EQ(ledger.find("11"), nullptr);
    EXPECT_TRUE(ledger.childrenOf("slurm-12").empty());
    EXPECT_EQ(devicesOf("slurm-12"), Indices{0});
}

TEST_F(ChildrenOfJobs, LoseADeviceThatAJobTakesFromTheirParent) {
    holding("10", alice, {3});
    start("10", "11", alice);
    emitted.clear();
    startJob({"GPU-0", "GPU-1", "GPU-3"});
    EXPECT_EQ(detached(), (Words{"11/3 job", "10/3 job"}));
}

TEST_F(ChildrenOfJobs, KeepTheirProcessesFromGenvWhereTheirJobLosesADevice) {
    SilentLog quiet;
    core::Terminator terminator{processes, observer, scheduler,
                                events,    99,       [] { return std::chrono::seconds{10}; }};
    core::Evictor evictor{ledger, observer, terminator, scheduler, quiet};
    events.subscribe([&](const core::Event& event) { evictor.onEvent(event); });
    start("slurm-12", "11", alice, count(2));
    holding("20", bob, {3});
    start("20", "21", bob);
    const auto observe = [&] {
        core::Observation seen = gpus(4);
        seen.processes = {worker(500, alice, {"GPU-0"}, "11"), worker(501, bob, {"GPU-3"}, "21")};
        scheduler.turn();
        observer.answer(seen); // for the evictor
        observer.answer(seen); // for the terminator, which looks again
    };
    const auto ofJob = processes.add(500, alice);
    startJob({"GPU-1", "GPU-3"}); // which takes the device of another environment's child
    observe();
    EXPECT_TRUE(ofJob->signals.empty()) << "only Slurm ends the processes of a job";
    EXPECT_EQ(emittedOf<core::ProcessTerminated>().size(), 1U);
}

} // namespace
} // namespace genv::tests
