// SPDX-License-Identifier: LGPL-2.1-or-later
// An environment whose shell has exited while its program still computes: it keeps its GPU, nobody
// else gets that GPU, and everybody can see the reason.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <fstream>

namespace genv::tests {
namespace {

class Lingering : public BusTest {
  protected:
    explicit Lingering(std::map<std::string, std::string> variables = {{"GENV_MOCK_DEVICE_COUNT",
                                                                        "2"}})
        : BusTest(std::move(variables)) {}

    // A program that computes on every simulated GPU and names its environment, as a program
    // started with nohup does.
    static std::unique_ptr<UserProcess> compute(core::Uid uid, const std::string& environment,
                                                bool ignoresSigterm = false) {
        ProcessOptions options{.uid = uid, .compute = true, .ignoresSigterm = ignoresSigterm};
        options.environment["GENV_ENVIRONMENT_ID"] = environment;
        return std::make_unique<UserProcess>(options);
    }
    std::string propertyOf(const std::string& id, const char* name) {
        return asRoot->property(environmentPath(id), environmentInterface, name);
    }
    bool exists(const std::string& id) {
        return asRoot->manager("GetEnvironment", "s", id.c_str()).ok();
    }
    void waitUntilItLingers(const std::string& id) {
        waitUntil([&] { return propertyOf(id, "Lingering") == "1"; }, "it to linger");
    }
    static void end(UserProcess& process) {
        process.kill(SIGKILL);
        process.wait();
    }
    Answer attachOne(Client& client, const UserProcess& shell) {
        return client.manager("Activate", "a{sv}", 2, "pid", "u", shell.pid(), "gpus", "u", 1U);
    }
};

TEST_F(Lingering, KeepsTheGpusThatAProgramStillUsesFromEverybodyElse) {
    UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell, 2);
    const auto program = compute(alice, id);
    end(shell);
    waitUntil(
        [&] {
            return !exists(id) || propertyOf(id, "Processes") == std::to_string(program->pid());
        },
        "the environment to end or to linger");
    EXPECT_EQ(attachOne(*asBob, bobs).error, error::deviceUnavailable)
        << "bob got a GPU on which alice's program computes";
    ASSERT_TRUE(exists(id));
    EXPECT_EQ(propertyOf(id, "Lingering"), "1");
    EXPECT_EQ(devicesOf(id), "0,1");

    end(*program);
    waitUntil([&] { return !exists(id); }, "it to end");
    EXPECT_TRUE(attachOne(*asBob, bobs).ok());
}

TEST_F(Lingering, HasItsGpusFreeForWhoeverAsksRightAfterItsShellIsGone) {
    // When bob asks, the driver has not yet reported that no process uses the devices.
    for (int round = 0; round < 5; ++round) {
        UserProcess shell(alice);
        UserProcess bobs(bob);
        activate(*asAlice, shell, 2);
        end(shell);
        const Answer answer =
            asBob->manager("Activate", "a{sv}", 2, "pid", "u", bobs.pid(), "gpus", "u", 2U);
        EXPECT_TRUE(answer.ok()) << answer.text;
        const std::string id = answer.readString();
        EXPECT_TRUE(asBob->environment(id, "Deactivate").ok());
        EXPECT_FALSE(exists(id)) << "the answer comes once its GPUs are free";
    }
}

TEST_F(Lingering, IsWhatDeactivateLeavesBehind) {
    const UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell, 2);
    const auto program = compute(alice, id);
    ASSERT_TRUE(asAlice->environment(id, "Deactivate").ok());
    ASSERT_TRUE(exists(id));
    EXPECT_EQ(propertyOf(id, "Lingering"), "1");
    EXPECT_EQ(propertyOf(id, "Processes"), std::to_string(program->pid()));
    EXPECT_TRUE(asAlice->environment(id, "Deactivate").ok()) << "and again";
    EXPECT_EQ(propertyOf(id, "Lingering"), "1");

    EXPECT_EQ(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 2U).error,
              error::noSuchProcess);
    EXPECT_EQ(asBob->environment(id, "Deactivate").error, error::interactive);
    EXPECT_TRUE(asRoot->environment(id, "Deactivate").ok());
    EXPECT_FALSE(exists(id)) << "an administrator ends it at once";
}

TEST_F(Lingering, EndsWithItsProgramsWhenTheirOwnerTerminatesThem) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    const auto program = compute(alice, id);
    ASSERT_TRUE(asAlice->environment(id, "Deactivate").ok());
    ASSERT_EQ(propertyOf(id, "Lingering"), "1");
    EXPECT_TRUE(asAlice->manager("TerminateProcess", "u", program->pid()).ok());
    EXPECT_EQ(program->wait(), SIGTERM);
    waitUntil([&] { return !exists(id); }, "it to end");
}

TEST_F(Lingering, IsAnEnvironmentAgainForWhoeverActivatesItById) {
    UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    const auto program = compute(alice, id);
    end(shell);
    waitUntilItLingers(id);
    const UserProcess again(alice);
    ASSERT_TRUE(
        asAlice->manager("Activate", "a{sv}", 2, "id", "s", id.c_str(), "pid", "u", again.pid())
            .ok());
    EXPECT_EQ(propertyOf(id, "Lingering"), "0");
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
    EXPECT_EQ(devicesOf(id), "0,1");
}

TEST_F(Lingering, GivesItsGpuToTheProgramThatUsesItAndActivatesAgain) {
    // The same happens with two "with genv.sdk.activate(...)" blocks in one program that never
    // closes the driver.
    const UserProcess program({.uid = alice, .compute = true});
    const auto activateAll = [&] {
        return asAlice->manager("Activate", "a{sv}", 2, "pid", "u", program.pid(), "gpus", "u", 2U);
    };
    for (int block = 0; block < 3; ++block) {
        const Answer answer = activateAll();
        ASSERT_TRUE(answer.ok()) << answer.text;
        const std::string id = answer.readString();
        ASSERT_TRUE(asAlice->environment(id, "RemoveProcess", "u", program.pid()).ok());
        EXPECT_EQ(propertyOf(id, "Lingering"), "1");
    }
    EXPECT_EQ(environmentCount(), "1");
}

TEST_F(Lingering, KeepsItsGpusWhereItsProgramIsRefusedAnotherEnvironment) {
    const UserProcess program({.uid = alice, .compute = true});
    const std::string id = activate(*asAlice, program, 2);
    ASSERT_TRUE(asAlice->environment(id, "RemoveProcess", "u", program.pid()).ok());
    ASSERT_EQ(propertyOf(id, "Lingering"), "1");
    RecordedSignals signals(*asAlice);
    {
        const Rule rule("nobody-attaches", "action.id == \"dev.genv.manager.attach\"", "NO");
        EXPECT_EQ(attachOne(*asAlice, program).error, error::accessDenied);
    }
    EXPECT_EQ(propertyOf(id, "Lingering"), "1");
    EXPECT_EQ(devicesOf(id), "0,1");
    EXPECT_EQ(environmentCount(), "1");
    asAlice->ping();
    EXPECT_TRUE(signals.detached.empty());
    EXPECT_TRUE(signals.removed.empty());
}

TEST_F(Lingering, IsNotJoinedUnderAnIdWhoseEnvironmentEndsJustThen) {
    UserProcess shell(alice);
    ASSERT_TRUE(asAlice
                    ->manager("Activate", "a{sv}", 4, "id", "s", "mine", "pid", "u", shell.pid(),
                              "gpus", "u", 2U, "name", "s", "before")
                    .ok());
    const UserProcess again(alice);
    ASSERT_EQ(::kill(service.pid(), SIGSTOP), 0); // so that it finds the exit and the call at once
    end(shell);
    const auto call = asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 3, "id",
                                     "s", "mine", "pid", "u", again.pid(), "gpus", "u", 1U);
    asAlice->ping();
    ASSERT_EQ(::kill(service.pid(), SIGCONT), 0);
    ASSERT_TRUE(asAlice->finish(*call).ok()) << call->answer.text;
    EXPECT_EQ(propertyOf("mine", "Name"), "");
    EXPECT_EQ(devicesOf("mine"), "0");
}

TEST_F(Lingering, KeepsWhoeverWaitsInTheQueueUntilItsProgramEnds) {
    UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell, 2);
    const auto program = compute(alice, id);
    const auto waiting = asBob->start(managerPath, managerInterface, "Activate", "a{sv}", 3, "pid",
                                      "u", bobs.pid(), "gpus", "u", 1U, "wait", "b", 1);
    waitUntil([&] { return waitingIn(*asRoot).size() == 1; }, "bob to wait");
    end(shell);
    waitUntilItLingers(id);
    asBob->ping();
    EXPECT_FALSE(waiting->answered);
    EXPECT_EQ(waitingIn(*asRoot).size(), 1U);
    end(*program);
    EXPECT_TRUE(asBob->finish(*waiting).ok());
}

TEST_F(Lingering, SurvivesTheServiceThatIsKilledBetweenTheExitAndTheSample) {
    UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell, 1);
    UserProcess idle(bob);
    const std::string ended = activate(*asBob, idle, 1);
    const auto program = compute(alice, id);
    for (int round = 0; round < 3; ++round) {
        if (round == 0) {
            end(shell);
            end(idle);
        }
        service.restart(SIGKILL);
        waitUntilItLingers(id);
        EXPECT_EQ(devicesOf(id), "0");
        EXPECT_FALSE(exists(ended));
    }
    EXPECT_FALSE(program->hasEnded()) << "nothing was killed";
    service.restart(SIGTERM);
    EXPECT_EQ(propertyOf(id, "Lingering"), "1");
    end(*program);
    waitUntil([&] { return !exists(id); }, "it to end");
}

TEST_F(Lingering, IsEndedByItsLease) {
    UserProcess shell(alice);
    const std::string id = asAlice
                               ->manager("Activate", "a{sv}", 3, "pid", "u", shell.pid(), "gpus",
                                         "u", 1U, "lifetime", "t", std::uint64_t{2})
                               .readString();
    const auto program = compute(alice, id);
    end(shell);
    waitUntil([&] { return !exists(id); }, "its lease to end");
    EXPECT_EQ(program->wait(), SIGTERM);
}

TEST_F(Lingering, IsToldToItsOwnerWithThePids) {
    const UserProcess shell(alice);
    RecordedSignals signals(*asAlice);
    const std::string id = activate(*asAlice, shell, 1);
    const auto program = compute(alice, id);
    ASSERT_TRUE(asAlice->environment(id, "Deactivate").ok());
    EXPECT_EQ(signals.notice("lingering"), nullptr) << "too early: it may be dying";
    asAlice->processUntil([&] { return signals.notice("lingering") != nullptr; }, "the notice");
    const RecordedSignals::Notice& notice = *signals.notice("lingering");
    EXPECT_EQ(notice.uid, alice);
    EXPECT_EQ(notice.environment, id);
    EXPECT_EQ(notice.details.at("pids"), std::to_string(program->pid()));
    EXPECT_EQ(notice.details.at("devices"), "0");
    service.waitForLog("lingers: process " + std::to_string(program->pid()) + " still uses GPU 0");
}

TEST_F(Lingering, CountsInTheLimitsOfItsOwner) {
    std::ofstream(Service::configurationFolder() / "genvd.conf")
        << "[Limits]\nMaxDevicesPerUser=1\n";
    service.restart(SIGTERM);
    UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    const auto program = compute(alice, id);
    end(shell);
    waitUntilItLingers(id);
    const UserProcess again(alice);
    EXPECT_EQ(attachOne(*asAlice, again).error, error::quotaExceeded);
    end(*program);
    // Bob asks right after the end, which the driver has yet to confirm.
    waitUntil([&] { return !exists(id) || propertyOf(id, "Lingering") == "0"; }, "its end");
    EXPECT_TRUE(attachOne(*asAlice, again).ok());
}

TEST_F(Lingering, IsNotForAMachineWhoseAdministratorForbidsIt) {
    std::ofstream(Service::configurationFolder() / "genvd.conf") << "[Enforcement]\nLinger=no\n";
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    const UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell, 1);
    const auto program = compute(alice, id);
    // This makes the service see the program.
    ASSERT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1).ok());
    RecordedSignals signals(*asBob);
    ASSERT_TRUE(asAlice->environment(id, "Deactivate").ok());
    EXPECT_FALSE(exists(id));
    // The program uses every GPU of this machine, so bob gets a GPU that it uses, and a notice.
    ASSERT_TRUE(attachOne(*asBob, bobs).ok());
    asBob->processUntil([&] { return signals.notice("device-occupied") != nullptr; }, "the notice");
    EXPECT_EQ(signals.notice("device-occupied")->details.at("pid"), std::to_string(program->pid()));
    EXPECT_EQ(signals.notice("device-occupied")->details.at("owner"), std::to_string(alice));
}

// -- a driver that says which process uses which GPU, and that hangs

class LingeringWithADriver : public Lingering {
  protected:
    LingeringWithADriver() {
        service.end(SIGTERM);
        std::ofstream(Service::configurationFolder() / "genvd.conf") << "[GPU]\nBackend=nvml\n";
        service.set("LD_LIBRARY_PATH", GENV_TEST_FAKE_NVML_FOLDER);
        service.set("GENV_FAKE_NVML", driver);
        machine({}, {});
        service.start();
    }
    void write(const std::string& json) const {
        std::ofstream(driver + ".new") << json;
        std::filesystem::rename(driver + ".new", driver);
    }
    // Sets the processes on each of the two GPUs.
    void machine(const std::vector<core::Pid>& first, const std::vector<core::Pid>& second) const {
        const auto device = [](const char* uuid, const std::vector<core::Pid>& pids) {
            std::string processes;
            for (const core::Pid pid : pids)
                processes += (processes.empty() ? "" : ",") + std::string(R"({"pid":)") +
                             std::to_string(pid) + "}";
            return std::string(R"({"uuid":")") + uuid +
                   R"(","name":"NVIDIA A100","memory":{"total":16000000000,"used":1000},)" +
                   R"("processes":[)" + processes + "]}";
        };
        write(R"({"devices":[)" + device("GPU-a", first) + "," + device("GPU-b", second) + "]}");
    }

    const std::string driver = (Service::configurationFolder() / "driver.json").string();
};

TEST_F(LingeringWithADriver, GivesBackTheGpusThatNothingUses) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 2);
    const auto program = compute(alice, id);
    machine({}, {program->pid()});
    ASSERT_TRUE(asAlice->environment(id, "Deactivate").ok());
    EXPECT_EQ(propertyOf(id, "Lingering"), "1");
    EXPECT_EQ(devicesOf(id), "1");
}

TEST_F(LingeringWithADriver, GoesByTheLastSampleWhereTheDriverHangs) {
    const UserProcess shell(alice);
    const UserProcess bobs(bob);
    const std::string id = activate(*asAlice, shell, 1);
    const std::string his = activate(*asBob, bobs, 1);
    const auto program = compute(alice, id);
    machine({program->pid()}, {});
    waitUntil(
        [&] {
            return asRoot->manager("ListProcesses").ok() &&
                   asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1).ok();
        },
        "a sample");
    write(R"({"faults":{"*":"hang"}})");
    ASSERT_TRUE(asBob->environment(his, "Deactivate").ok());
    EXPECT_FALSE(exists(his)) << "half a second is enough, although the driver hangs for five";
    ASSERT_TRUE(asAlice->environment(id, "Deactivate").ok());
    EXPECT_EQ(propertyOf(id, "Lingering"), "1");
    EXPECT_EQ(devicesOf(id), "0");
}

TEST_F(LingeringWithADriver, OffersNothingAsFreeAfterAStartUntilTheDriverHasAnswered) {
    UserProcess shell(alice);
    UserProcess idle(bob);
    const UserProcess carols(carol);
    const std::string id = activate(*asAlice, shell, 1);
    const std::string ended = activate(*asBob, idle, 1);
    const auto program = compute(alice, id);
    service.end(SIGKILL);
    end(shell);
    end(idle);
    write(R"({"faults":{"*":"crash"}})");
    service.start();
    EXPECT_EQ(attachOne(*asCarol, carols).error, error::deviceUnavailable);
    EXPECT_EQ(devicesOf(id), "0");
    EXPECT_EQ(devicesOf(ended), "1");
    machine({program->pid()}, {});
    waitUntil([&] { return asRoot->manager("ListProcesses").ok(); }, "the driver to answer");
    waitUntilItLingers(id);
    waitUntil([&] { return !exists(ended); }, "the end of what nothing uses");
    EXPECT_TRUE(attachOne(*asCarol, carols).ok());
}

} // namespace
} // namespace genv::tests
