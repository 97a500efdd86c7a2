// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes, descriptors, the helper and the driver's library fail while an environment is parked or
// resumed. Its program is never lost, nor locked, and its GPU has one holder.
#include "tests/bus/support/cuda.hpp"
#include "tests/faults/fixture.hpp"

#include <cerrno>
#include <cstring>

namespace genv::tests {
namespace {

class FaultyParking : public CudaBusTest {
  protected:
    FaultyParking() {
        service.end(SIGTERM);
        service.set("LD_PRELOAD", GENV_TEST_PRELOAD);
        service.set(injectionVariable, injector.path());
        std::ofstream(Service::configurationFolder() / "genvd.conf", std::ios::app)
            << "[Parking]\nLockTimeout=1s\n";
        service.start();
        alices = haveHolding();
    }

    std::string state() { return stateOf(alices->id); }
    void awaitSettled() {
        waitUntil([&] { return state() == "active" || state() == "parked"; }, "the end of it");
        if (state() == "active") {
            EXPECT_EQ(devicesOf(alices->id), "0");
            EXPECT_TRUE(alices->program->goesOn()) << "it is locked or lost";
        } else {
            EXPECT_EQ(devicesOf(alices->id), "");
            EXPECT_EQ(machine.allocations(), 0);
        }
    }
    Answer request(bool parks) {
        return parks ? park(*asAlice, alices->id) : resume(*asAlice, alices->id);
    }
    // Parks or resumes again and again, while one call of the service after the other fails.
    int failAtEachCall(std::uint32_t classes, int error, std::uint32_t step) {
        int failures = 0;
        for (const bool parks : {true, false}) {
            bool isReached = true;
            for (std::uint32_t point = 1; isReached && !HasFailure(); point += step) {
                SCOPED_TRACE((parks ? "Park, call " : "Resume, call ") + std::to_string(point));
                if ((state() == "active") != parks) {
                    EXPECT_TRUE(request(!parks).ok());
                }
                injector.arm(classes, FaultAction::Fail, point, error);
                const Answer answer = request(parks);
                isReached = injector.fired() > 0;
                injector.disarm();
                awaitSettled();
                if (answer.ok()) {
                    EXPECT_EQ(state(), parks ? "parked" : "active");
                } else {
                    EXPECT_EQ(state(), parks ? "active" : "parked") << answer.text;
                    ++failures;
                }
            }
        }
        return failures;
    }
    void expectGoesOnInTheEnd() {
        if (state() == "parked") {
            ASSERT_TRUE(resume(*asAlice, alices->id).ok());
        }
        expectGoesOn(*alices);
    }

    Injector injector;
    UserProcess bobsShell{bob};
    std::unique_ptr<Holding> alices;
};

TEST_F(FaultyParking, IsRefusedOrTurnedBackAtEachWriteOnAFullDisk) {
    EXPECT_GT(failAtEachCall(storeCalls, ENOSPC, isFull() ? 1 : 3), 2);
    expectGoesOnInTheEnd();
}

TEST_F(FaultyParking, IsRefusedOrTurnedBackAtEachDescriptorThatIsMissing) {
    EXPECT_GT(failAtEachCall(openCalls, EMFILE, isFull() ? 1 : 4), 2);
    expectGoesOnInTheEnd();
}

TEST_F(FaultyParking, IsRefusedWithoutItsHelperAndAResumeWaitsForIt) {
    helpers.stop();
    const Answer refused = park(*asAlice, alices->id);
    EXPECT_EQ(refused.error, "dev.genv.Error.CannotPark");
    EXPECT_NE(refused.text.find("genv-park"), std::string::npos) << refused.text;
    awaitSettled();
    helpers.start(machine);
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    helpers.stop();
    const auto resuming =
        asAlice->start(environmentPath(alices->id), environmentInterface, "Resume", "a{sv}", 0);
    waitUntil([&] { return !propertyOf(alices->id, "ParkingProblem").empty(); }, "the problem");
    EXPECT_EQ(state(), "resuming");
    helpers.start(machine);
    EXPECT_TRUE(asAlice->finish(*resuming).ok());
    expectGoesOn(*alices);
}

TEST_F(FaultyParking, IsRefusedWithoutTheLibraryAndAResumeWaitsForIt) {
    helpers.stop();
    helpers.start(machine, "/nonexistent");
    const Answer refused = park(*asAlice, alices->id);
    EXPECT_EQ(refused.error, "dev.genv.Error.CannotPark");
    EXPECT_NE(refused.text.find("libcuda"), std::string::npos) << refused.text;
    awaitSettled();
    helpers.stop();
    helpers.start(machine);
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    helpers.stop();
    helpers.start(machine, "/nonexistent");
    const auto resuming =
        asAlice->start(environmentPath(alices->id), environmentInterface, "Resume", "a{sv}", 0);
    waitUntil([&] { return !propertyOf(alices->id, "ParkingProblem").empty(); }, "the problem");
    helpers.stop();
    helpers.start(machine);
    EXPECT_TRUE(asAlice->finish(*resuming).ok());
    expectGoesOn(*alices);
}

// As a user does who ends a program that moves 70 GB.
TEST_F(FaultyParking, EndsWithAProgramThatIsToldToEndWhileItMoves) {
    for (const bool parks : {true, false}) {
        SCOPED_TRACE(parks ? "Park" : "Resume");
        if (!parks) {
            alices = haveHolding();
            ASSERT_TRUE(park(*asAlice, alices->id).ok());
        }
        const std::string function =
            parks ? "cuCheckpointProcessCheckpoint" : "cuCheckpointProcessRestore";
        machine.inject("alices", {{function, {{"delay", 600'000}}}});
        const auto call = asAlice->start(environmentPath(alices->id), environmentInterface,
                                         parks ? "Park" : "Resume", "a{sv}", 0);
        waitUntil([&] { return alices->program->currentCall() == function; }, "the movement");
        alices->program->kill(SIGTERM);
        EXPECT_NE(alices->program->wait(), 0);
        const Answer& answer = asAlice->finish(*call);
        waitUntil([&] { return state() == "active" || state() == "parked"; }, "the end of it");
        EXPECT_TRUE(parks || !answer.ok() || state() == "active") << answer.text;
        machine.inject("alices", nlohmann::json::object());
        alices->shell.kill(SIGKILL);
        alices->shell.wait();
        waitUntil([&] { return !asRoot->manager("GetEnvironment", "s", alices->id.c_str()).ok(); },
                  "its end");
        EXPECT_TRUE(helpers.areDone()) << "a helper stayed";
    }
    EXPECT_TRUE(attach(*asBob, activate(*asBob, bobsShell), 0).ok()) << "the GPU is not free";
}

} // namespace
} // namespace genv::tests
