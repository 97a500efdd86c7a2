// SPDX-License-Identifier: LGPL-2.1-or-later
// What goes wrong while an environment is parked or resumes: no process stays locked, none is
// restored twice, and devices are given up only when all have moved.
#include "tests/core/parking_fixture.hpp"

namespace genv::tests {
namespace {

using core::CheckpointState;
using core::ParkingCall;
using core::ParkingFault;
using core::ParkingStep;

class ParkingFaults : public ParkingTest {
  protected:
    void haveTwo() {
        holding("10", alice, {0, 1});
        computing(500, "10", 0);
        computing(501, "10", 1);
    }
    void expectAsBefore() {
        EXPECT_FALSE(environment().parking);
        EXPECT_EQ(environment().attachments.size(), 2U);
        EXPECT_EQ(stateOf(500), CheckpointState::Running);
        EXPECT_EQ(stateOf(501), CheckpointState::Running);
    }
};

TEST_F(ParkingFaults, TurnsBackIfOneCannotBeLocked) {
    haveTwo();
    driver.faults[{501, ParkingCall::Lock}] = {ParkingFault::NotReady, 600};
    park();
    settle();
    expectAsBefore();
    EXPECT_NE(parked.value_or("").find("LockTimeout"), std::string::npos);
    EXPECT_EQ(emittedOf<core::ParkingFailed>().size(), 1U);
}

TEST_F(ParkingFaults, LocksNothingIfTheDriverDoesNotAnswer) {
    haveTwo();
    park();
    for (const auto& each : std::exchange(driver.capabilities, {}))
        each(driver.can);
    service->observer.fail("it does not answer");
    EXPECT_TRUE(driver.pending.empty());
    EXPECT_NE(parked.value_or("").find("the GPU driver does not answer"), std::string::npos);
    settle();
    expectAsBefore();
}

TEST_F(ParkingFaults, TurnsBackIfTheDriverDoesNotAnswerOnceAllAreLocked) {
    haveTwo();
    park();
    answerQuestions();
    driver.answerOne();
    driver.answerOne();
    service->scheduler.turn();
    ASSERT_EQ(driver.lockedOnes().size(), 2U);
    service->observer.fail("it does not answer");
    pass(std::chrono::seconds{2});
    expectAsBefore();
    EXPECT_NE(parked.value_or("").find("the GPU driver does not answer"), std::string::npos);
}

TEST_F(ParkingFaults, WaitsForTheDriverBeforeARestore) {
    haveParked();
    resume();
    service->scheduler.turn();
    driver.answerOne(); // the state
    service->scheduler.turn();
    ASSERT_FALSE(service->observer.waiting.empty()) << "it looks for room";
    service->observer.fail("it does not answer");
    service->scheduler.turn();
    EXPECT_EQ(driver.living.at(500).restores, 0);
    pass(std::chrono::seconds{2});
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
}

TEST_F(ParkingFaults, UnlocksAProcessWhoseMemoryTheDriverCannotMove) {
    haveTwo();
    driver.faults[{501, ParkingCall::Checkpoint}] = {ParkingFault::NotSupported, 801};
    park();
    settle();
    expectAsBefore();
    EXPECT_EQ(driver.living.at(500).restores, 1) << "the other one had moved";
    EXPECT_NE(parked.value_or("").find("managed memory"), std::string::npos);
}

TEST_F(ParkingFaults, KeepsTheDevicesWhileThereIsNoRoomToTurnBack) {
    haveTwo();
    park();
    answerQuestions();
    driver.faults[{501, ParkingCall::Checkpoint}] = {ParkingFault::NotSupported, 801};
    driver.answerOne();
    driver.answerOne();
    answerQuestions();
    driver.foreign["GPU-0"] = gigabytes(12); // as soon as 500 has moved
    settle();
    EXPECT_TRUE(environment().isAt(ParkingStep::Undoing));
    EXPECT_EQ(environment().attachments.size(), 2U);
    EXPECT_EQ(driver.living.at(500).restores, 0);
    EXPECT_EQ(stateOf(501), CheckpointState::Running);
    ASSERT_TRUE(parked) << "the caller is told, and does not wait for the room";
    EXPECT_NE(parked->find("managed memory"), std::string::npos);
    EXPECT_NE(parked->find("4 GB free"), std::string::npos);
    driver.foreign.clear();
    pass(std::chrono::seconds{2});
    expectAsBefore();
}

TEST_F(ParkingFaults, AsksAgainAfterAHelperDiedAndUnlocksWhatComesLater) {
    haveTwo();
    park();
    answerQuestions();
    driver.faults[{500, ParkingCall::Lock}] = {ParkingFault::Deadline, 0};
    settle();
    EXPECT_FALSE(environment().isAt(ParkingStep::Parked));
    driver.living.at(500).state = CheckpointState::Locked; // the call is carried out after all
    pass(settings.lockTimeout + core::helperTime + std::chrono::seconds{1});
    expectAsBefore();
}

TEST_F(ParkingFaults, UnlocksWhatACallOfTheFormerServiceLocksLater) {
    haveTwo();
    park();
    answerQuestions();
    kill(false);
    settle();
    EXPECT_TRUE(environment().parking) << "the processes are asked once more";
    driver.living.at(500).state = CheckpointState::Locked; // the call is carried out after all
    pass(settings.lockTimeout + core::helperTime + std::chrono::seconds{1});
    expectAsBefore();
}

TEST_F(ParkingFaults, WaitsForNoLateCallOnceAProcessWasLocked) {
    haveTwo();
    driver.faults[{500, ParkingCall::Checkpoint}] = {ParkingFault::Helper, 0};
    park();
    settle();
    expectAsBefore();
    park();
    settle();
    resume();
    driver.faults[{500, ParkingCall::Restore}] = {ParkingFault::Helper, 0};
    settle();
    kill(false);
    settle();
    pass(std::chrono::seconds{2});
    expectAsBefore();
}

TEST_F(ParkingFaults, ReportsALostProcessAndNeverRestoresItAgain) {
    haveParked();
    resume();
    answerQuestions();
    driver.answerOne(); // the state
    answerQuestions();
    driver.foreign["GPU-0"] = gigabytes(12); // somebody was faster than the restore
    settle();
    EXPECT_EQ(driver.living.at(500).restores, 1);
    ASSERT_EQ(emittedOf<core::ProcessLost>().size(), 1U);
    EXPECT_EQ(emittedOf<core::ProcessLost>()[0].pid, 500U);
    driver.foreign.clear();
    pass(std::chrono::seconds{60});
    EXPECT_EQ(driver.living.at(500).restores, 1);
    EXPECT_FALSE(environment().parking);
    EXPECT_NE(environment().parkingProblem.find("could not restore"), std::string::npos);
}

TEST_F(ParkingFaults, AsksNoMoreAboutAProcessThatMayNotBeTouched) {
    haveTwo();
    driver.living.at(501).isLost = true; // every call for it is refused
    park();
    settle();
    EXPECT_FALSE(environment().parking);
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
    EXPECT_NE(parked.value_or("").find("does not permit"), std::string::npos);
    EXPECT_TRUE(emittedOf<core::ProcessLost>().empty());
}

TEST_F(ParkingFaults, TriesAgainIfTheDriverRefusedARestoreWithNothingLost) {
    haveParked();
    driver.refused = {"GPU-0"};
    resume();
    settle();
    EXPECT_TRUE(environment().isAt(ParkingStep::Resuming));
    EXPECT_EQ(emittedOf<core::ResumeDelayed>().size(), 1U);
    EXPECT_FALSE(environment().parkingProblem.empty());
    driver.refused.clear();
    for (int i = 0; i < 3; ++i)
        pass(std::chrono::seconds{2});
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
    EXPECT_TRUE(emittedOf<core::ProcessLost>().empty());
}

TEST_F(ParkingFaults, ReportsAProcessLostThatTheDriverRefusesToRestoreAgainAndAgain) {
    haveParked();
    driver.refused = {"GPU-0"};
    resume();
    for (int i = 0; i < 10; ++i)
        pass(std::chrono::seconds{60});
    EXPECT_EQ(emittedOf<core::ProcessLost>().size(), 1U);
    EXPECT_FALSE(environment().parking);
}

TEST_F(ParkingFaults, GoesOnWithoutAProcessThatEnds) {
    haveTwo();
    park();
    answerQuestions();
    end(501);
    settle();
    EXPECT_EQ(parked, "");
    EXPECT_EQ(stateOf(500), CheckpointState::Checkpointed);
    EXPECT_EQ(environment().parking->processes.size(), 1U);
}

TEST_F(ParkingFaults, ChangesNothingIfTheStepCannotBeWritten) {
    haveTwo();
    store.writesUntilFailure = 0;
    store.maxFailures = store.failures + 1;
    park();
    settle();
    expectAsBefore();
    EXPECT_NE(parked.value_or(""), "");
}

TEST_F(ParkingFaults, TurnsBackIfTheDevicesCannotBeGivenUp) {
    haveTwo();
    park();
    answerQuestions();
    driver.answerOne();
    driver.answerOne();
    answerQuestions();
    ASSERT_EQ(driver.pending.at(0).call, ParkingCall::Checkpoint);
    store.writesUntilFailure = 0;
    store.maxFailures = store.failures + 1;
    settle();
    expectAsBefore();
}

TEST_F(ParkingFaults, EndsWithoutALockedProcessIfSomebodyElseEndsItInBetween) {
    haveTwo();
    park();
    answerQuestions();
    driver.answerOne();
    ledger().deactivate("10", root);
    settle();
    EXPECT_TRUE(environment().isAt(ParkingStep::Ending));
    end(500);
    end(501);
    EXPECT_EQ(ledger().find("10"), nullptr);
    ASSERT_TRUE(parked);
    EXPECT_NE(*parked, "");
}

/// Kills the service after each number of answers, with the calls under way carried out or not.
class KilledParking : public ParkingFaults,
                      public ::testing::WithParamInterface<std::tuple<int, bool, bool>> {};

TEST_P(KilledParking, LeavesNothingLockedAndNothingLost) {
    const auto [answers, areCarriedOut, resumes] = GetParam();
    haveTwo();
    park();
    answerQuestions();
    if (resumes) {
        settle();
        resume();
        answerQuestions();
    }
    for (int i = 0; i < answers && !driver.pending.empty(); ++i) {
        driver.answerOne();
        answerQuestions();
    }
    kill(areCarriedOut);
    settle();
    for (int i = 0; i < 4; ++i)
        pass(settings.lockTimeout + core::helperTime + std::chrono::seconds{1});
    EXPECT_TRUE(driver.lockedOnes().empty());
    for (const auto& [pid, process] : driver.living) {
        EXPECT_LE(process.restores, 1);
        EXPECT_FALSE(process.isLost);
    }
    ASSERT_NE(ledger().find("10"), nullptr);
    if (environment().isAt(ParkingStep::Parked)) {
        EXPECT_EQ(stateOf(500), CheckpointState::Checkpointed);
        EXPECT_EQ(stateOf(501), CheckpointState::Checkpointed);
        EXPECT_TRUE(environment().attachments.empty());
    } else {
        expectAsBefore();
    }
}

INSTANTIATE_TEST_SUITE_P(AtEachStep, KilledParking,
                         ::testing::Combine(::testing::Range(0, 9), ::testing::Bool(),
                                            ::testing::Bool()));

} // namespace
} // namespace genv::tests
