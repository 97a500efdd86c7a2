// SPDX-License-Identifier: LGPL-2.1-or-later
// An environment steps aside without losing its processes: what happens in which order, what is
// refused, and who holds the devices meanwhile.
#include "core/rules/rule.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/parking_fixture.hpp"

namespace genv::tests {
namespace {

using core::CheckpointState;
using core::ErrorCode;
using core::ParkingCall;
using core::ParkingStep;

class Parking : public ParkingTest {
  protected:
    std::vector<ParkingCall> callsUnderWay() const {
        std::vector<ParkingCall> calls;
        for (const FakeDriver::Pending& each : driver.pending)
            calls.push_back(each.call);
        return calls;
    }
    ErrorCode refusalOfParking(const std::string& id) {
        return codeOf([&] { park(id); });
    }
};

TEST_F(Parking, LocksAllAtOnceAndFreesTheDevicesWhenAllHaveMoved) {
    holding("10", alice, {0, 1});
    computing(500, "10", 0);
    computing(501, "10", 0, gigabytes(2));
    computing(502, "10", 1);
    park();
    answerQuestions();
    EXPECT_EQ(callsUnderWay(),
              (std::vector{ParkingCall::Lock, ParkingCall::Lock, ParkingCall::Lock}));
    driver.answerOne();
    driver.answerOne();
    answerQuestions();
    EXPECT_EQ(callsUnderWay(), std::vector{ParkingCall::Lock}) << "one is not locked yet";
    driver.answerOne();
    answerQuestions();
    EXPECT_EQ(callsUnderWay(), (std::vector{ParkingCall::Checkpoint, ParkingCall::Checkpoint}))
        << "one for each device at a time";
    EXPECT_EQ(driver.pending.at(0).pid, 500U);
    EXPECT_EQ(driver.pending.at(1).pid, 502U);
    driver.answerOne(0);
    driver.answerOne(0);
    answerQuestions();
    EXPECT_EQ(environment().deviceIndices(), (std::vector<core::DeviceIndex>{0, 1}));
    EXPECT_FALSE(ledger().device(0).isAvailable(std::nullopt));
    settle();
    EXPECT_EQ(parked, "");
    EXPECT_TRUE(environment().isAt(ParkingStep::Parked));
    EXPECT_TRUE(environment().attachments.empty());
    EXPECT_TRUE(ledger().device(0).isFree());
    EXPECT_EQ(environment().parking->bytes(), gigabytes(18));
    ASSERT_EQ(emittedOf<core::Detached>().size(), 2U);
    EXPECT_EQ(emittedOf<core::Detached>()[0].cause.reason.text(), "parked");
    ASSERT_EQ(emittedOf<core::EnvironmentParked>().size(), 1U);
    EXPECT_EQ(emittedOf<core::EnvironmentParked>()[0].reason, "user");
}

TEST_F(Parking, ResumesWithTheSameDevices) {
    haveParked();
    resume();
    EXPECT_EQ(environment().deviceIndices(), std::vector<core::DeviceIndex>{0});
    settle();
    EXPECT_FALSE(environment().parking);
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
    EXPECT_EQ(driver.living.at(500).restores, 1);
    EXPECT_EQ(emittedOf<core::EnvironmentResumed>().size(), 1U);
    EXPECT_TRUE(emittedOf<core::ProcessLost>().empty());
}

TEST_F(Parking, GivesBackAboveALimitWhatWasAllowedThere) {
    holding("10", alice, {0});
    ledger().detach("10", {}, alice);
    const core::AttachRequest request{core::IndicesWanted{{0}}, {}, {}, false};
    const auto plan = core::place(request, ledger().devices(), &environment());
    ledger().attach("10", plan, alice, {true, std::nullopt});
    computing(500, "10", 0);
    park();
    settle();
    resume();
    settle();
    EXPECT_TRUE(environment().attachments.at(0).exempt);
}

TEST_F(Parking, TakesAllTheHostMemoryThatIsNotKept) {
    hostMemory.reading.available = gigabytes(18); // 10 of them are kept
    haveParked();
}

TEST_F(Parking, LetsAnotherUserTakeTheDeviceMeanwhile) {
    haveParked();
    holding("20", bob, {0});
    computing(600, "20", 0, gigabytes(15));
    EXPECT_EQ(codeOf([&] { resume(); }), ErrorCode::DeviceUnavailable);
    settle();
    EXPECT_EQ(stateOf(500), CheckpointState::Checkpointed);
    EXPECT_EQ(driver.living.at(500).restores, 0);
}

TEST_F(Parking, WaitsInTheQueueForItsDevices) {
    haveParked();
    holding("20", bob, {0});
    const core::Plan plan =
        service->queue.placeOrWait(core::requestToResume(*environment().parking), &environment());
    ledger().resume("10", plan, alice);
    service->queue.await(environment().waits.back().ticket, {alice, "alice", {}}, std::nullopt,
                         [](const auto&) {});
    settle();
    EXPECT_TRUE(environment().isAt(ParkingStep::Parked));
    ledger().detach("20", {}, bob);
    settle();
    EXPECT_FALSE(environment().parking);
    EXPECT_EQ(environment().deviceIndices(), std::vector<core::DeviceIndex>{0});
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
}

TEST_F(Parking, NeverRestoresBeforeThereIsRoomAndNamesWhoIsInTheWay) {
    haveParked();
    driver.foreign["GPU-0"] = gigabytes(10);
    resume();
    settle();
    EXPECT_TRUE(environment().isAt(ParkingStep::Resuming));
    EXPECT_EQ(driver.living.at(500).restores, 0);
    ASSERT_EQ(emittedOf<core::ResumeDelayed>().size(), 1U);
    pass(std::chrono::seconds{5});
    EXPECT_EQ(driver.living.at(500).restores, 0);
    EXPECT_EQ(emittedOf<core::ResumeDelayed>().size(), 1U) << "the same problem is told once";
    EXPECT_TRUE(environment().parkingProblem.starts_with("GPU 0 has 6 GB free"))
        << environment().parkingProblem;
    driver.foreign.clear();
    pass(std::chrono::seconds{2});
    EXPECT_FALSE(environment().parking);
    EXPECT_EQ(environment().parkingProblem, "");
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
}

TEST_F(Parking, WaitsForPersistenceModeBeforeARestore) {
    haveParked();
    persistence = false;
    resume();
    settle();
    EXPECT_EQ(driver.living.at(500).restores, 0);
    EXPECT_NE(environment().parkingProblem.find("persistence mode"), std::string::npos);
    persistence = true;
    pass(std::chrono::seconds{2});
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
}

TEST_F(Parking, LocksProcessesThatStartMeanwhile) {
    holding("10", alice, {0});
    computing(500, "10", 0);
    park();
    answerQuestions();
    computing(501, "10", 0, gigabytes(1));
    settle();
    EXPECT_EQ(parked, "");
    EXPECT_EQ(stateOf(501), CheckpointState::Checkpointed);
    EXPECT_EQ(environment().parking->processes.size(), 2U);
}

TEST_F(Parking, RemembersTheMemoryThatAProcessHadWhenItWasLocked) {
    holding("10", alice, {0});
    computing(500, "10", 0, gigabytes(2));
    park();
    answerQuestions();
    driver.living.at(500).uses[0].bytes = gigabytes(9);
    settle();
    EXPECT_EQ(environment().parking->bytes(), gigabytes(9));
}

TEST_F(Parking, ParksAnEnvironmentWhoseGpuNobodyUses) {
    holding("10", alice, {0});
    park();
    settle();
    EXPECT_EQ(parked, "");
    EXPECT_TRUE(ledger().device(0).isFree());
    resume();
    settle();
    EXPECT_FALSE(environment().parking);
    EXPECT_EQ(environment().deviceIndices(), std::vector<core::DeviceIndex>{0});
}

TEST_F(Parking, RefusesWhatCannotBeParkedAndChangesNothing) {
    holding("10", alice, {0});
    computing(500, "10", 0);
    const auto refusedBecause = [&](const std::string& words) {
        park();
        answerQuestions();
        EXPECT_TRUE(driver.pending.empty()) << words << ": no process is locked";
        EXPECT_FALSE(environment().parking) << words;
        EXPECT_EQ(stateOf(500), CheckpointState::Running) << words;
        EXPECT_NE(parked.value_or("").find(words), std::string::npos) << parked.value_or("none");
        EXPECT_EQ(environment().parkingProblem, parked.value_or(""));
    };
    driver.can = {true, false, ""};
    refusedBecause("570");
    driver.can = {false, false, ""};
    refusedBecause("libcuda");
    driver.can = {true, true, "12.8"};
    persistence = false;
    refusedBecause("persistence mode");
    persistence = true;
    hostMemory.reading.available = gigabytes(17); // 10 of them are kept
    refusedBecause("8 GB of host memory, and 7 GB");
    hostMemory.reading.available = gigabytes(90);
    settings.maxMemory = gigabytes(7);
    refusedBecause("MaxMemory=");
    settings.maxMemory.reset();
    hostMemory.groups[500] = {{"/user.slice", gigabytes(20)}, {"/user.slice/a", gigabytes(5)}};
    refusedBecause("/user.slice/a");
    hostMemory.groups.clear();
    driver.living.at(500).uses.push_back({"GPU-1", gigabytes(1)});
    refusedBecause("2 GPUs");
}

TEST_F(Parking, RefusesEnvironmentsThatItCannotGiveBackAsTheyWere) {
    holding("10", alice, {0});
    settings.enable = false;
    EXPECT_EQ(refusalOfParking("10"), ErrorCode::NotSupported);
    settings.enable = true;
    ledger().startJob({7, alice, "alice", {"GPU-1"}});
    EXPECT_EQ(refusalOfParking("slurm-7"), ErrorCode::NotSupported);
    park();
    EXPECT_EQ(refusalOfParking("10"), ErrorCode::Busy);
    settle();
    EXPECT_EQ(refusalOfParking("10"), ErrorCode::Busy) << "it is parked";
    ledger().deactivate("slurm-7", root);
    holding("20", alice, {1});
    ledger().detach("20", {}, alice);
    EXPECT_EQ(refusalOfParking("20"), ErrorCode::NotAttached);
    processes.add(30, alice);
    core::NewEnvironment child{"30", alice, "alice", {}, {}, {}};
    child.processes.push_back(core::adopt(processes.pin(30), alice, alice));
    holding("40", alice, {1});
    child.parent = "40";
    ledger().activate(child, std::nullopt, alice);
    EXPECT_EQ(refusalOfParking("40"), ErrorCode::CannotPark) << "it has a child";
}

TEST_F(Parking, CountsTheMemoryThatOthersAreAboutToMove) {
    holding("10", alice, {0});
    holding("20", bob, {1});
    computing(500, "10", 0);
    computing(600, "20", 1);
    hostMemory.reading.available = gigabytes(20); // 10 of them are kept
    park("10");
    answerQuestions();
    park("20");
    answerQuestions();
    EXPECT_NE(parked.value_or("").find("host memory"), std::string::npos);
    EXPECT_FALSE(environment("20").parking);
    settle();
    EXPECT_TRUE(environment("10").isAt(ParkingStep::Parked));
}

TEST_F(Parking, LimitsTheMemoryOfAUser) {
    settings.maxMemoryPerUser = gigabytes(10);
    haveParked();
    holding("20", alice, {0});
    computing(600, "20", 0);
    park("20");
    settle();
    EXPECT_NE(parked.value_or("").find("MaxMemoryPerUser"), std::string::npos);
    holding("30", bob, {1});
    computing(700, "30", 1);
    park("30");
    settle();
    EXPECT_EQ(parked, "");
}

TEST_F(Parking, ChangesNoDevicesOfAParkedEnvironmentOnRequest) {
    haveParked();
    const core::AttachRequest any{core::CountWanted{1}, {}, {}, false};
    EXPECT_EQ(
        codeOf([&] { ledger().attach("10", service->queue.place(any, &environment()), alice); }),
        ErrorCode::Busy);
    EXPECT_EQ(codeOf([&] { ledger().detach("10", {}, alice); }), ErrorCode::Busy);
}

TEST_F(Parking, OutlivesTheLastShellAndLingersAfterwards) {
    haveParked();
    processes.exit(10);
    answerQuestions();
    ASSERT_NE(ledger().find("10"), nullptr);
    EXPECT_TRUE(environment().isLingering());
    resume();
    settle();
    EXPECT_TRUE(environment().isLingering());
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
    end(500);
    answerQuestions();
    EXPECT_EQ(ledger().find("10"), nullptr);
}

TEST_F(Parking, EndsWithItsLastProcess) {
    haveParked();
    processes.exit(10);
    end(500);
    EXPECT_EQ(ledger().find("10"), nullptr);
    EXPECT_TRUE(store.documents.empty());
}

TEST_F(Parking, LingersWhenItsOwnerDeactivatesIt) {
    haveParked();
    ledger().deactivate("10", alice);
    settle();
    ASSERT_NE(ledger().find("10"), nullptr);
    EXPECT_TRUE(environment().isLingering());
    EXPECT_EQ(stateOf(500), CheckpointState::Checkpointed);
}

TEST_F(Parking, SignalsNoProcessThatHasOtherUidsByThen) {
    haveParked();
    const auto process = processes.add(500, alice);
    kill(); // pins the process that was just added
    process->facts.uids.effective = bob;
    ledger().deactivate("10", root);
    settle();
    EXPECT_TRUE(process->signals.empty());
}

TEST_F(Parking, TellsByTheResidentMemoryHowFarItIs) {
    holding("10", alice, {0});
    computing(500, "10", 0, gigabytes(8));
    park();
    answerQuestions();
    hostMemory.reading.resident[{500, 7}] = gigabytes(1);
    driver.answerOne(); // it is locked
    answerQuestions();
    hostMemory.reading.resident[{500, 7}] = gigabytes(5);
    service->scheduler.pass(std::chrono::seconds{5});
    answerQuestions();
    EXPECT_EQ(service->parkings.progress("10"), std::pair(gigabytes(4), gigabytes(8)));
}

TEST_F(Parking, LeavesNoLockWhenSomebodyElseEndsIt) {
    holding("10", alice, {0});
    computing(500, "10", 0);
    ledger().lock("10", ledger().newTicket());
    park();
    settle();
    ASSERT_TRUE(environment().isAt(ParkingStep::Parked)) << parked.value_or("no answer");
    ledger().deactivate("10", root);
    EXPECT_TRUE(environment().locks.empty());
}

TEST_F(Parking, EndsItsProcessesWhenSomebodyElseEndsIt) {
    haveParked();
    const auto process = processes.add(500, alice);
    kill(); // pins the process that was just added
    ledger().deactivate("10", root);
    settle();
    ASSERT_NE(ledger().find("10"), nullptr) << "its process still holds host memory";
    EXPECT_EQ(process->signals, std::vector{core::TerminationSignal::Terminate});
    pass(std::chrono::seconds{11});
    EXPECT_EQ(process->signals.back(), core::TerminationSignal::Kill);
    end(500);
    EXPECT_EQ(ledger().find("10"), nullptr);
}

TEST_F(Parking, EndsItsProcessesWhenAnAdministratorRemovesItsLastShell) {
    haveParked();
    const auto process = processes.add(500, alice);
    kill(); // pins the process that was just added
    ledger().removeProcess("10", 10, root);
    settle();
    EXPECT_EQ(process->signals, std::vector{core::TerminationSignal::Terminate});
    end(500);
    EXPECT_EQ(ledger().find("10"), nullptr);
}

TEST_F(Parking, KeepsLeasesStill) {
    holding("10", alice, {0});
    computing(500, "10", 0);
    ledger().detach("10", {}, alice);
    const core::AttachRequest request{core::IndicesWanted{{0}}, {}, {}, false};
    ledger().attach("10", core::place(request, ledger().devices(), &environment()), alice,
                    {false, std::chrono::seconds{3600}});
    const auto left = environment().attachments[0].lease->until - clock.bootNow();
    park();
    settle();
    const auto lost =
        left - (environment().parking->devices[0].lease->until - environment().parking->began);
    EXPECT_FALSE(environment().firstLease());
    pass(std::chrono::hours{3});
    EXPECT_TRUE(environment().isAt(ParkingStep::Parked));
    resume();
    EXPECT_EQ(environment().attachments[0].lease->until - clock.bootNow(), left - lost);
}

TEST_F(Parking, EndsAfterMaxParkedTimeAndAWarning) {
    settings.maxParkedTime = std::chrono::hours{1};
    haveParked();
    const auto process = processes.add(500, alice);
    kill();
    pass(std::chrono::hours{1});
    EXPECT_EQ(emittedOf<core::ParkedTooLong>().size(), 1U);
    EXPECT_TRUE(process->signals.empty());
    pass(std::chrono::seconds{31});
    EXPECT_EQ(process->signals, std::vector{core::TerminationSignal::Terminate});
    end(500);
    EXPECT_EQ(ledger().find("10"), nullptr);
}

TEST_F(Parking, IsUndoneWhenItsCallerLeaves) {
    holding("10", alice, {0});
    computing(500, "10", 0);
    park();
    answerQuestions();
    service->parkings.cancel("10");
    settle();
    EXPECT_FALSE(environment().parking);
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
    EXPECT_EQ(environment().deviceIndices(), std::vector<core::DeviceIndex>{0});
    EXPECT_FALSE(parked) << "nobody is there for an answer";
    EXPECT_TRUE(emittedOf<core::ParkingFailed>().empty());
    park();
    service->parkings.cancel("10");
    park();
    settle();
    EXPECT_EQ(parked, "") << "another call may follow at once";
}

TEST_F(Parking, IsParkedAgainIfItsDeviceIsLostWhileItResumes) {
    haveParked();
    driver.foreign["GPU-0"] = gigabytes(10);
    resume();
    settle();
    ledger().takeAway("10", "GPU-0", core::Cause::fact(core::Reason::deviceLost()));
    pass(std::chrono::seconds{2});
    EXPECT_TRUE(environment().isAt(ParkingStep::Parked));
    EXPECT_EQ(stateOf(500), CheckpointState::Checkpointed);
    driver.foreign.clear();
    resume();
    settle();
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
}

TEST_F(Parking, IsNotJudgedByASampleFromBefore) {
    holding("10", alice, {0});
    computing(500, "10", 0);
    const core::Observation before = sample();
    park();
    settle();
    EXPECT_TRUE(
        core::runningProcesses(ledger(), before, [](const auto&) { return false; }).empty());
    ledger().observed(before);
    EXPECT_TRUE(ledger().device(0).isFree()) << "the process does not occupy its former GPU";
    EXPECT_TRUE(ledger().isParked({500, 7}, environment().parking->began)) << "nor is one of then";
    clock.pass(std::chrono::seconds{1});
    driver.living.at(500).state = CheckpointState::Running; // restored past genv
    EXPECT_EQ(core::runningProcesses(ledger(), sample(), [](const auto&) { return false; }).size(),
              1U);
}

TEST_F(Parking, IsInTheDocument) {
    haveParked();
    const core::EnvironmentRecord read = core::decodeState(store.documents.at("10"));
    EXPECT_EQ(read.parking, environment().parking);
    EXPECT_EQ(core::encodeState(read), store.documents.at("10"));
}

} // namespace
} // namespace genv::tests
