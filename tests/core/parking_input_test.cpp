// SPDX-License-Identifier: LGPL-2.1-or-later
// What the driver, processes and devices may do while an environment is parked: each refusal is
// told in words, and nothing is signalled, locked or given to the wrong device.
#include "tests/core/parking_fixture.hpp"

namespace genv::tests {
namespace {

using core::CheckpointState;
using core::ParkingCall;
using core::ParkingFault;
using core::ParkingStep;

struct Refusal {
    ParkingFault fault;
    int code;
    const char* words;
};

// The name of the test would otherwise have the address of the words.
void PrintTo(const Refusal& refusal, std::ostream* out) {
    *out << refusal.words;
}

class RefusedParking : public ParkingTest, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusedParking, LetsTheProcessGoOnAndSaysWhy) {
    holding("10", alice, {0});
    const auto process = processes.add(500, alice);
    driver.living[500] = {{500, 7}, alice, "10", {{"GPU-0", gigabytes(8)}}};
    driver.faults[{500, ParkingCall::Lock}] = {GetParam().fault, GetParam().code};
    park();
    settle();
    pass(settings.lockTimeout + core::helperTime + std::chrono::seconds{1});
    EXPECT_NE(parked.value_or("").find(GetParam().words), std::string::npos)
        << parked.value_or("no answer");
    EXPECT_FALSE(environment().parking);
    EXPECT_EQ(environment().deviceIndices(), std::vector<core::DeviceIndex>{0});
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
    EXPECT_TRUE(process->signals.empty());
}

INSTANTIATE_TEST_SUITE_P(
    OfTheDriverOrTheHelper, RefusedParking,
    ::testing::Values(Refusal{ParkingFault::OldDriver, 0, "570"},
                      Refusal{ParkingFault::NoLibrary, 0, "libcuda"},
                      Refusal{ParkingFault::NotInitialized, 3, "without CUDA"},
                      Refusal{ParkingFault::NotSupported, 801, "MPS, or memory shared"},
                      Refusal{ParkingFault::NotReady, 600, "LockTimeout"},
                      Refusal{ParkingFault::IllegalState, 401, "cuda-checkpoint"},
                      Refusal{ParkingFault::NotPermitted, 304, "does not permit"},
                      Refusal{ParkingFault::Container, 0, "container"},
                      Refusal{ParkingFault::Owner, 0, "uid and gid"},
                      Refusal{ParkingFault::Deadline, 0, "in time"},
                      Refusal{ParkingFault::Driver, 999, "CUDA error 999"},
                      Refusal{ParkingFault::Helper, 0, "genv-park"}));

class ParkingInput : public ParkingTest {};

TEST_F(ParkingInput, SignalsNoProcess) {
    holding("10", alice, {0});
    const auto process = processes.add(500, alice);
    driver.living[500] = {{500, 7}, alice, "10", {{"GPU-0", gigabytes(8)}}};
    park();
    settle();
    ASSERT_TRUE(environment().isAt(ParkingStep::Parked));
    driver.foreign["GPU-0"] = gigabytes(12);
    resume();
    settle();
    kill(false);
    settle();
    driver.foreign.clear();
    pass(std::chrono::seconds{2});
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
    EXPECT_TRUE(process->signals.empty());
}

TEST_F(ParkingInput, LeavesAProcessAloneThatRunsAnotherProgramMeanwhile) {
    holding("10", alice, {0});
    computing(500, "10", 0);
    park();
    answerQuestions();
    driver.answerOne(); // it is locked
    answerQuestions();
    driver.faults[{500, ParkingCall::Checkpoint}] = {ParkingFault::NotInitialized, 3};
    driver.living.at(500).state = CheckpointState::Running; // of the new program
    driver.answerOne();
    driver.faults[{500, ParkingCall::Lock}] = {ParkingFault::NotInitialized, 3};
    settle();
    EXPECT_FALSE(environment().parking);
    EXPECT_NE(parked.value_or("").find("without CUDA"), std::string::npos);
}

TEST_F(ParkingInput, ResumesWithoutAProcessThatRunsAnotherProgramByThen) {
    haveParked();
    driver.faults[{500, ParkingCall::State}] = {ParkingFault::NotInitialized, 3};
    resume();
    settle();
    EXPECT_FALSE(environment().parking);
    EXPECT_EQ(driver.living.at(500).restores, 0);
    EXPECT_TRUE(emittedOf<core::ProcessLost>().empty());
}

TEST_F(ParkingInput, StaysParkedWhileItsDeviceIsLost) {
    haveParked();
    missing = {"GPU-0"};
    ledger().observed(sample());
    EXPECT_EQ(codeOf([&] { resume(); }), core::ErrorCode::NoSuchDevice);
    EXPECT_TRUE(environment().isAt(ParkingStep::Parked));
    missing.clear();
    ledger().observed(sample());
    resume();
    settle();
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
}

TEST_F(ParkingInput, ResumesOnItsDeviceWhoseIndexHasMoved) {
    haveParked();
    isReversed = true; // after a restart of the driver
    kill();
    settle();
    ASSERT_EQ(ledger().device(1).facts.uuid, "GPU-0");
    resume();
    settle();
    EXPECT_EQ(environment().deviceIndices(), std::vector<core::DeviceIndex>{1});
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
}

TEST_F(ParkingInput, ResumesWithItsShareOfADevice) {
    holding("10", alice, {0});
    ledger().detach("10", {}, alice);
    core::AttachRequest request;
    request.wanted = core::IndicesWanted{{0}};
    request.share = gigabytes(8);
    ledger().attach("10", core::place(request, ledger().devices(), &environment()), alice);
    computing(500, "10", 0, gigabytes(4));
    park();
    settle();
    ASSERT_TRUE(environment().isAt(ParkingStep::Parked)) << parked.value_or("no answer");
    resume();
    settle();
    EXPECT_EQ(environment().attachments.at(0).share, gigabytes(8));
    EXPECT_EQ(stateOf(500), CheckpointState::Running);
}

} // namespace
} // namespace genv::tests
