// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments with real processes step aside and go on, through the real helper genv-park: the
// GPU is another user's meanwhile.
#include "tests/bus/support/cuda.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

namespace genv::tests {
namespace {

class Parking : public CudaBusTest {
  protected:
    void waitFor(const std::string& id, const std::string& state) {
        waitUntil([&] { return stateOf(id) == state; }, ("the state " + state).c_str());
    }
    std::string problemOf(const std::string& id) { return propertyOf(id, "ParkingProblem"); }
};

TEST_F(Parking, FreesTheGpuForAnotherUserAndGoesOnLater) {
    const auto alices = haveHolding();
    const Answer parked = park(*asAlice, alices->id);
    ASSERT_TRUE(parked.ok()) << parked.text;
    EXPECT_EQ(stateOf(alices->id), "parked");
    EXPECT_EQ(devicesOf(alices->id), "");
    EXPECT_EQ(propertyOf(alices->id, "ParkedReason"), "user");
    EXPECT_NE(propertyOf(alices->id, "Processes").find(std::to_string(alices->program->pid())),
              std::string::npos)
        << "it keeps the environment";
    EXPECT_GE(std::stoull(propertyOf(alices->id, "ParkedMemory")), 64U << 20U);
    EXPECT_EQ(machine.allocations(), 0);

    const UserProcess bobsShell(bob);
    const std::string bobs = activate(*asBob, bobsShell);
    ASSERT_TRUE(attach(*asBob, bobs, 0).ok()) << "the GPU is not free";
    {
        const auto program = compute(bob, bobs, "bobs", {"--memory", "900"});
        EXPECT_TRUE(program->goesOn());
        EXPECT_EQ(resume(*asAlice, alices->id).error, error::deviceUnavailable);
        EXPECT_TRUE(program->endsWell());
    }
    EXPECT_TRUE(asBob->environment(bobs, "Detach", "au", 0).ok());
    const Answer resumed = resume(*asAlice, alices->id);
    ASSERT_TRUE(resumed.ok()) << resumed.text;
    EXPECT_EQ(resumed.readUnsignedList(), std::vector<std::uint32_t>{0});
    expectGoesOn(*alices);
}

TEST_F(Parking, WaitsInTheQueueForTheSameGpu) {
    const auto alices = haveHolding();
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    const UserProcess bobsShell(bob);
    const std::string bobs = activate(*asBob, bobsShell);
    ASSERT_TRUE(attach(*asBob, bobs, 0).ok());
    const auto resuming = asAlice->start(environmentPath(alices->id), environmentInterface,
                                         "Resume", "a{sv}", 1, "wait", "b", 1);
    waitUntil([&] { return queueOf(*asRoot).size() == 1; }, "the wait");
    EXPECT_EQ(stateOf(alices->id), "parked");
    EXPECT_TRUE(asBob->environment(bobs, "Deactivate").ok());
    const Answer& resumed = asAlice->finish(*resuming);
    EXPECT_TRUE(resumed.ok()) << resumed.text;
    expectGoesOn(*alices);
}

TEST_F(Parking, TellsWhatCannotBeParkedAndLeavesItRunning) {
    const auto alices = haveHolding({"--managed"});
    const Answer refused = park(*asAlice, alices->id);
    EXPECT_EQ(refused.error, "dev.genv.Error.CannotPark");
    EXPECT_NE(refused.text.find("managed memory"), std::string::npos) << refused.text;
    EXPECT_EQ(problemOf(alices->id), refused.text);
    expectGoesOn(*alices);
}

TEST_F(Parking, DoesNotWaitForALongKernel) {
    configure("[Parking]\nLockTimeout=1s\n");
    const auto alices = haveHolding({"--kernel", "600000"});
    const Answer refused = park(*asAlice, alices->id);
    EXPECT_EQ(refused.error, "dev.genv.Error.CannotPark");
    EXPECT_NE(refused.text.find("LockTimeout"), std::string::npos) << refused.text;
    EXPECT_EQ(stateOf(alices->id), "active");
}

TEST_F(Parking, KeepsHostMemoryForOthers) {
    configure("[Parking]\nMaxMemoryPerUser=1m\n");
    const auto alices = haveHolding();
    EXPECT_EQ(park(*asAlice, alices->id).error, "dev.genv.Error.NoHostMemory");
    configure("[Parking]\nKeepMemory=100%\n");
    EXPECT_EQ(park(*asAlice, alices->id).error, "dev.genv.Error.NoHostMemory");
    configure("[Parking]\nEnable=no\n");
    EXPECT_EQ(park(*asAlice, alices->id).error, error::notSupported);
    expectGoesOn(*alices);
}

TEST_F(Parking, IsOnlyForTheOwnerAndAdministrators) {
    const auto alices = haveHolding();
    EXPECT_EQ(park(*asBob, alices->id).error, error::interactive);
    EXPECT_EQ(stateOf(alices->id), "active");
    ASSERT_TRUE(park(*asRoot, alices->id).ok());
    EXPECT_EQ(propertyOf(alices->id, "ParkedReason"), "admin");
    EXPECT_EQ(resume(*asBob, alices->id).error, error::interactive);
    const auto pid = static_cast<std::uint32_t>(alices->program->pid());
    EXPECT_EQ(asBob->manager("TerminateProcess", "u", pid).error, error::interactive);
    EXPECT_EQ(stateOf(alices->id), "parked");
    ASSERT_TRUE(resume(*asAlice, alices->id).ok());
    expectGoesOn(*alices);
}

TEST_F(Parking, LeavesToRulesWhoseParkedProcessesMayBeTerminated) {
    const auto alices = haveHolding();
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    const Rule rule(
        "parked", "action.id == 'dev.genv.manager.terminate-others' && subject.user == 'carol' && "
                  "action.lookup('environment') == '" +
                      alices->id + "' && action.lookup('owner') == 'alice'");
    const auto pid = static_cast<std::uint32_t>(alices->program->pid());
    const Answer terminated = asCarol->manager("TerminateProcess", "u", pid);
    EXPECT_TRUE(terminated.ok()) << terminated.text;
}

TEST_F(Parking, TellsEverybodyThroughSignals) {
    const auto alices = haveHolding();
    std::vector<std::string> told;
    const auto note = [&](sd_bus_message* message) {
        told.emplace_back(sd_bus_message_get_member(message));
    };
    const Slot parked = asBob->listen("type='signal',member='EnvironmentParked'", note);
    const Slot resumed = asBob->listen("type='signal',member='EnvironmentResumed'", note);
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    ASSERT_TRUE(resume(*asAlice, alices->id).ok());
    asBob->processUntil([&] { return told.size() == 2; }, "both signals");
    EXPECT_EQ(told, (std::vector<std::string>{"EnvironmentParked", "EnvironmentResumed"}));
}

TEST_F(Parking, WaitsForRoomAndNamesWhoIsInTheWay) {
    const auto alices = haveHolding({"--memory", "600"});
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    const UserProcess bobsShell(bob);
    const std::string bobs = activate(*asBob, bobsShell);
    ASSERT_TRUE(attach(*asBob, bobs, 0).ok());
    const auto intruder = compute(bob, bobs, "bobs", {"--memory", "600"});
    ASSERT_TRUE(asBob->environment(bobs, "Detach", "au", 0).ok());
    const auto resuming =
        asAlice->start(environmentPath(alices->id), environmentInterface, "Resume", "a{sv}", 0);
    waitUntil([&] { return !problemOf(alices->id).empty(); }, "the problem");
    EXPECT_EQ(stateOf(alices->id), "resuming");
    EXPECT_NE(problemOf(alices->id).find(std::to_string(intruder->pid())), std::string::npos)
        << problemOf(alices->id);
    EXPECT_TRUE(intruder->endsWell());
    EXPECT_TRUE(asAlice->finish(*resuming).ok());
    expectGoesOn(*alices);
}

TEST_F(Parking, IsUndoneWhenTheCallerLeaves) {
    const auto alices = haveHolding();
    machine.inject("alices", {{"cuCheckpointProcessCheckpoint", "hang"}});
    {
        Client leaving(alice);
        const auto call =
            leaving.start(environmentPath(alices->id), environmentInterface, "Park", "a{sv}", 0);
        leaving.processUntil([&] { return stateOf(alices->id) == "parking"; }, "it to park");
    }
    waitFor(alices->id, "resuming");
    machine.inject("alices", nlohmann::json::object());
    waitFor(alices->id, "active");
    expectGoesOn(*alices);
}

TEST_F(Parking, SurvivesARestartOfTheService) {
    const auto alices = haveHolding();
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    service.restart(SIGKILL);
    EXPECT_EQ(stateOf(alices->id), "parked");
    EXPECT_NE(propertyOf(alices->id, "ParkedMemory"), "0");
    ASSERT_TRUE(resume(*asAlice, alices->id).ok());
    expectGoesOn(*alices);
}

TEST_F(Parking, IsTurnedBackIfTheServiceIsKilledMeanwhile) {
    configure("[Parking]\nLockTimeout=1s\n");
    const auto alices = haveHolding();
    machine.inject("alices", {{"cuCheckpointProcessCheckpoint", "hang"}});
    const auto call =
        asAlice->start(environmentPath(alices->id), environmentInterface, "Park", "a{sv}", 0);
    asAlice->processUntil([&] { return stateOf(alices->id) == "parking"; }, "it to park");
    service.end(SIGKILL);
    machine.inject("alices", nlohmann::json::object());
    service.start();
    waitUntil([&] { return stateOf(alices->id) == "active" || stateOf(alices->id) == "parked"; },
              "the end of the parking");
    if (stateOf(alices->id) == "parked") { // the call was carried out after all
        ASSERT_TRUE(resume(*asAlice, alices->id).ok());
    }
    expectGoesOn(*alices);
}

TEST_F(Parking, EndsWithItsProcesses) {
    const auto alices = haveHolding();
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    alices->shell.kill(SIGKILL);
    alices->shell.wait();
    waitUntil([&] { return propertyOf(alices->id, "Lingering") == "1"; }, "it to linger");
    alices->program->kill(SIGKILL);
    alices->program->wait();
    waitUntil([&] { return !asRoot->manager("GetEnvironment", "s", alices->id.c_str()).ok(); },
              "its end");
}

TEST_F(Parking, EndsItsProcessesWhenAnAdministratorEndsIt) {
    const auto alices = haveHolding();
    ASSERT_TRUE(park(*asAlice, alices->id).ok());
    ASSERT_TRUE(asRoot->environment(alices->id, "Deactivate").ok());
    EXPECT_NE(alices->program->wait(), 0);
    waitUntil([&] { return !asRoot->manager("GetEnvironment", "s", alices->id.c_str()).ok(); },
              "its end");
}

TEST_F(Parking, IsNotJudgedWhileItIsParked) {
    configure("[Enforcement]\nInterval=1s\nGrace=0\n");
    const auto alices = haveHolding();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(park(*asAlice, alices->id).ok());
        EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "env-devices", "b", 1).ok());
        ASSERT_TRUE(resume(*asAlice, alices->id).ok());
    }
    expectGoesOn(*alices);
}

} // namespace
} // namespace genv::tests
