// SPDX-License-Identifier: LGPL-2.1-or-later
// Real users share GPUs over the real bus: what each user may hold and see, and what each loses the
// moment an environment ends.
#include "core/base/glibc_pidfd.hpp"
#include "tests/bus/support/fixture.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <set>

namespace genv::tests {
namespace {

class Sharing : public BusTest {
  protected:
    Sharing() : BusTest() {}
    explicit Sharing(std::map<std::string, std::string> variables)
        : BusTest(std::move(variables)) {}
};

TEST_F(Sharing, WhatOneHasAnotherSeesAndCannotTake) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs);
    EXPECT_EQ(asBob->property(environmentPath(hers), environmentInterface, "Devices"), "0");
    EXPECT_EQ(asBob->property(environmentPath(hers), environmentInterface, "User"), "alice");
    EXPECT_EQ(asBob->environment(his, "Attach", "a{sv}", 1, "index", "u", 0U).error,
              error::deviceUnavailable);
    EXPECT_EQ(asBob->environment(hers, "Detach", "au", 0).error, error::interactive);
    EXPECT_EQ(asBob->environment(his, "Attach", "a{sv}", 1, "count", "u", 1U).readUnsignedList(),
              std::vector<std::uint32_t>{1});
    EXPECT_TRUE(asRoot->environment(hers, "Detach", "au", 0).ok());
    EXPECT_EQ(devicesOf(hers), "");
}

TEST_F(Sharing, ActivateTakesEveryWayOfNamingAProcess) {
    const UserProcess byPid(alice);
    const std::string first = activate(*asAlice, byPid);
    EXPECT_EQ(first, std::to_string(byPid.pid()));
    const UserProcess byDescriptor(alice);
    const int pidfd = ::pidfd_open(static_cast<pid_t>(byDescriptor.pid()), 0);
    ASSERT_GE(pidfd, 0);
    EXPECT_EQ(asAlice->manager("Activate", "a{sv}", 1, "process", "h", pidfd).readString(),
              std::to_string(byDescriptor.pid()));
    ::close(pidfd);
    // The calling process itself: this program, which runs as root.
    const std::string own = asRoot->manager("Activate", "a{sv}", 0).readString();
    EXPECT_EQ(own, std::to_string(::getpid()));
    EXPECT_TRUE(asRoot->environment(own, "Deactivate").ok());
    EXPECT_EQ(asAlice->manager("Activate", "a{sv}", 0).error, error::accessDenied)
        << "the process is root's";
}

TEST_F(Sharing, ActivateTakesTheDevicesThatAreNamedOrNothingHappens) {
    const UserProcess first(alice);
    const auto activateWith = [&](Client& client, const UserProcess& process, const char* option,
                                  const char* type, auto... value) {
        return client.manager("Activate", "a{sv}", 2, "pid", "u", process.pid(), option, type,
                              value...);
    };
    EXPECT_TRUE(activateWith(*asAlice, first, "indices", "au", 2, 3U, 1U).ok());
    EXPECT_EQ(devicesOf(std::to_string(first.pid())), "1,3");
    const UserProcess second(bob);
    EXPECT_EQ(activateWith(*asBob, second, "indices", "au", 2, 0U, 1U).error,
              error::deviceUnavailable);
    EXPECT_EQ(activateWith(*asBob, second, "indices", "au", 2, 0U, 9U).error, error::noSuchDevice);
    EXPECT_EQ(activateWith(*asBob, second, "uuids", "as", 1, "GPU-none").error,
              error::noSuchDevice);
    EXPECT_EQ(activateWith(*asBob, second, "model", "s", "RTX").error, error::invalidArgs)
        << "no number of GPUs";
    EXPECT_EQ(asBob
                  ->manager("Activate", "a{sv}", 3, "pid", "u", second.pid(), "indices", "au", 1,
                            0U, "attach", "b", 0)
                  .error,
              error::invalidArgs);
    EXPECT_EQ(asBob
                  ->manager("Activate", "a{sv}", 3, "pid", "u", second.pid(), "gpus", "u", 1U,
                            "model", "s", "no such model")
                  .error,
              error::notEnoughDevices);
    EXPECT_EQ(environmentCount(), "1") << "nothing was left of what was refused";
    const std::string uuid = asBob->property(devicePath(2), deviceInterface, "UUID");
    EXPECT_TRUE(activateWith(*asBob, second, "uuids", "as", 1, uuid.c_str()).ok());
    EXPECT_EQ(devicesOf(std::to_string(second.pid())), "2");
    const UserProcess third(bob);
    EXPECT_TRUE(asBob
                    ->manager("Activate", "a{sv}", 3, "pid", "u", third.pid(), "gpus", "u", 1U,
                              "model", "s", "rtx")
                    .ok());
    EXPECT_EQ(devicesOf(std::to_string(third.pid())), "0");
}

TEST_F(Sharing, ASecondProcessJoinsAndKeepsTheEnvironmentAlive) {
    const UserProcess first(alice);
    const UserProcess second(alice);
    const std::string id = activate(*asAlice, first, 2);
    EXPECT_EQ(asAlice
                  ->manager("Activate", "a{sv}", 3, "id", "s", id.c_str(), "pid", "u", second.pid(),
                            "name", "s", "other")
                  .readString(),
              id);
    EXPECT_EQ(asAlice->property(environmentPath(id), environmentInterface, "Name"), "")
        << "it keeps its configuration";
    EXPECT_EQ(devicesOf(id), "0,1");
    const UserProcess bobs(bob);
    EXPECT_EQ(
        asBob->manager("Activate", "a{sv}", 2, "id", "s", id.c_str(), "pid", "u", bobs.pid()).error,
        error::alreadyExists);
    first.kill(SIGKILL);
    waitUntil(
        [&] {
            return asRoot->property(environmentPath(id), environmentInterface, "Processes") ==
                   std::to_string(second.pid());
        },
        "the first process to leave");
    EXPECT_EQ(devicesOf(id), "0,1");
}

TEST_F(Sharing, AFailedAttachLeavesNoNewEnvironment) {
    const UserProcess shell(alice);
    EXPECT_EQ(
        asAlice->manager("Activate", "a{sv}", 2, "pid", "u", shell.pid(), "gpus", "u", 5U).error,
        error::notEnoughDevices);
    const UserProcess bobs(bob);
    activate(*asBob, bobs, 4);
    EXPECT_EQ(
        asAlice->manager("Activate", "a{sv}", 2, "pid", "u", shell.pid(), "gpus", "u", 1U).error,
        error::deviceUnavailable);
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_EQ(asAlice
                  ->manager("Activate", "a{sv}", 3, "pid", "u", shell.pid(), "gpus", "u", 1U,
                            "attach", "b", 0)
                  .error,
              "")
        << "unless it need not attach";
}

// Only the kernel's notification about an exit can end the environment at once: the service's next
// sample of the GPUs is an hour away.
class Exit : public Sharing {
  protected:
    Exit() : Sharing({{"GENV_MOCK_DEVICE_COUNT", "1"}}) {
        const std::string file = (Service::configurationFolder() / "genvd.conf").string();
        FILE* stream = std::fopen(file.c_str(), "w");
        std::fputs("[Enforcement]\nInterval=1h\n", stream);
        std::fclose(stream);
        EXPECT_TRUE(asRoot->manager("Reload").ok());
    }
};

TEST_F(Exit, OfAKilledShellFreesItsDeviceWithoutAnybodyLooking) {
    std::vector<std::int64_t> microseconds;
    for (int round = 0; round < 20; ++round) {
        UserProcess shell(alice);
        activate(*asAlice, shell, 1);
        bool detached = false;
        const Slot slot =
            asBob->listen("type='signal',interface='dev.genv.Manager',member='Detached'",
                          [&](sd_bus_message* message) {
                              const char* id = nullptr;
                              std::uint32_t device = 0;
                              const char* reason = nullptr;
                              sd_bus_message_read(message, "sus", &id, &device, &reason);
                              EXPECT_STREQ(reason, "process-exit");
                              detached = true;
                          });
        const auto killed = std::chrono::steady_clock::now();
        shell.kill(SIGKILL);
        asBob->processUntil([&] { return detached; }, "the device to be free");
        microseconds.push_back(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now() - killed)
                                   .count());
        const UserProcess next(bob);
        EXPECT_EQ(devicesOf(activate(*asBob, next, 1)), "0");
        asRoot->environment(std::to_string(next.pid()), "Deactivate");
    }
    std::sort(microseconds.begin(), microseconds.end());
    std::printf(
        "from SIGKILL to the signal that the device is free: median %.1f ms, slowest %.1f ms\n",
        static_cast<double>(microseconds[10]) / 1000,
        static_cast<double>(microseconds.back()) / 1000);
}

// Two users request the last device a thousand times. Both calls are sent before either is
// answered.
class Race : public Sharing {
  protected:
    Race() : Sharing({{"GENV_MOCK_DEVICE_COUNT", "1"}}) {}
};

TEST_F(Race, ForTheLastDeviceIsWonByExactlyOneEachTime) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = activate(*asAlice, alices);
    const std::string his = activate(*asBob, bobs);
    int won[2] = {0, 0};
    for (int round = 0; round < 1000; ++round) {
        const auto attach = [](Client& client, const std::string& id) {
            return client.start(environmentPath(id), environmentInterface, "Attach", "a{sv}", 1,
                                "count", "u", 1U);
        };
        Client* clients[2] = {asAlice.get(), asBob.get()};
        const std::string* ids[2] = {&hers, &his};
        const int first = round % 2;
        const auto one = attach(*clients[first], *ids[first]);
        const auto two = attach(*clients[1 - first], *ids[1 - first]);
        const bool oneWon = clients[first]->finish(*one).ok();
        const bool twoWon = clients[1 - first]->finish(*two).ok();
        ASSERT_NE(oneWon, twoWon) << "round " << round << ": " << one->answer.text << " / "
                                  << two->answer.text;
        ASSERT_EQ((oneWon ? two : one)->answer.error, error::deviceUnavailable);
        ++won[oneWon ? first : 1 - first];
        ASSERT_EQ(devicesOf(*ids[oneWon ? first : 1 - first]), "0");
        ASSERT_TRUE(asRoot->environment(hers, "Detach", "au", 0).ok());
        ASSERT_TRUE(asRoot->environment(his, "Detach", "au", 0).ok());
    }
    std::printf("of 1000 races alice won %d and bob %d\n", won[0], won[1]);
}

TEST_F(Sharing, SharesMemoryAndOverSubscribesWhenAsked) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = asAlice
                                 ->manager("Activate", "a{sv}", 3, "pid", "u", alices.pid(), "gpus",
                                           "u", 1U, "gpu-memory", "s", "10g")
                                 .readString();
    const std::string his = asBob
                                ->manager("Activate", "a{sv}", 2, "pid", "u", bobs.pid(),
                                          "gpu-memory", "t", std::uint64_t{7'000'000'000})
                                .readString();
    EXPECT_EQ(asBob->environment(his, "Attach", "a{sv}", 1, "index", "u", 0U).error,
              error::deviceUnavailable);
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "AvailableMemory"), "6000000000");
    bool isReceived = false;
    const Slot slot = asAlice->listen(
        "type='signal',interface='dev.genv.Manager',member='Notice'", [&](sd_bus_message* message) {
            std::uint32_t uid = 0;
            const char* kind = nullptr;
            const char* environment = nullptr;
            sd_bus_message_read(message, "uss", &uid, &kind, &environment);
            isReceived =
                uid == alice && std::string(kind) == "over-subscribed" && environment == hers;
        });
    allowOverSubscribe(*asAlice, hers);
    EXPECT_TRUE(
        asBob->environment(his, "Attach", "a{sv}", 2, "index", "u", 0U, "over-subscribe", "b", 1)
            .ok());
    asAlice->processUntil([&] { return isReceived; }, "the notice to alice");
    EXPECT_EQ(asRoot->property(devicePath(0), deviceInterface, "AvailableMemory"), "0");
}

TEST_F(Sharing, TellsTheOwnerWhatAnAdministratorDidAndNobodyElse) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    std::string received;
    const Slot slot = asBob->listen(
        "type='signal',interface='dev.genv.Manager',member='Notice'", [&](sd_bus_message* message) {
            std::uint32_t uid = 0;
            const char* kind = nullptr;
            const char* environment = nullptr;
            sd_bus_message_read(message, "uss", &uid, &kind, &environment);
            received += std::to_string(uid) + " " + kind + " " + environment + ";";
        });
    EXPECT_TRUE(asAlice->environment(id, "Detach", "au", 0).ok());
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "index", "u", 2U).ok());
    EXPECT_TRUE(asRoot->environment(id, "Detach", "au", 1, 2U).ok());
    asBob->processUntil([&] { return !received.empty(); }, "a notice");
    EXPECT_EQ(received, "1001 detached " + id + ";") << "what alice did herself is no news to her";
}

TEST_F(Sharing, DetachesNothingForASmallerCountUnlessItIsExact) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 3);
    const std::vector<std::uint32_t> all{0, 1, 2};
    EXPECT_EQ(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 2U).readUnsignedList(),
              all);
    EXPECT_EQ(asAlice->environment(id, "Attach", "a{sv}", 2, "count", "u", 2U, "exact", "b", 1)
                  .readUnsignedList(),
              (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(Sharing, KeepsWhatIsAttachedWhenSomebodyJoins) {
    const UserProcess shell(alice);
    const UserProcess another(alice);
    const std::string id = activate(*asAlice, shell, 1);
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "index", "u", 3U).ok());
    EXPECT_TRUE(asAlice
                    ->manager("Activate", "a{sv}", 3, "id", "s", id.c_str(), "pid", "u",
                              another.pid(), "attach", "b", 1)
                    .ok());
    EXPECT_EQ(asAlice->environment(id, "Detach", "au", 1, 0U).readUnsignedList(),
              std::vector<std::uint32_t>{3});
}

TEST_F(Sharing, TellsWhatAnEnvironmentIsConfiguredTo) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    const auto property = [&](const char* name) {
        return asBob->property(environmentPath(id), environmentInterface, name);
    };
    int changes = 0;
    const Slot slot =
        asBob->listen("type='signal',interface='org.freedesktop.DBus.Properties',path='" +
                          environmentPath(id) + "'",
                      [&](sd_bus_message*) { ++changes; });
    ASSERT_TRUE(asAlice
                    ->environment(id, "Configure", "a{sv}as", 3, "name", "s", "Yesterday", "gpus",
                                  "u", 2U, "gpu-memory", "s", "4g", 0)
                    .ok());
    asBob->processUntil([&] { return changes == 1; }, "one signal for all of it");
    EXPECT_EQ(property("Name"), "Yesterday");
    EXPECT_EQ(property("Gpus"), "2");
    EXPECT_EQ(property("GpuMemory"), "4000000000");
    ASSERT_TRUE(
        asAlice->environment(id, "Configure", "a{sv}as", 0, 3, "name", "gpus", "gpu-memory").ok());
    EXPECT_EQ(property("Name"), "");
    EXPECT_EQ(property("Gpus"), "0");
    EXPECT_EQ(property("GpuMemory"), "0");
}

TEST_F(Sharing, TellsChangesOnceAfterTheReply) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    int changes = 0;
    const Slot slot =
        asAlice->listen("type='signal',interface='org.freedesktop.DBus.Properties',path='" +
                            environmentPath(id) + "'",
                        [&](sd_bus_message*) { ++changes; });
    const auto call = asAlice->start(environmentPath(id), environmentInterface, "Attach", "a{sv}",
                                     1, "count", "u", 3U);
    asAlice->processUntil([&] { return call->answered || changes > 0; }, "the reply or the change");
    EXPECT_TRUE(call->answered) << "the reply comes first";
    EXPECT_EQ(changes, 0);
    asAlice->processUntil([&] { return changes > 0; }, "the change");
    asRoot->manager("ListDevices");
    asAlice->ping();
    EXPECT_EQ(changes, 1) << "three devices, one change";
}

TEST_F(Sharing, ObjectsComeAndGoWithWhatTheyShow) {
    const UserProcess shell(alice);
    std::multiset<std::string> received;
    const auto note = [&](sd_bus_message* message) {
        const char* path = nullptr;
        sd_bus_message_read(message, "o", &path);
        received.insert(std::string(sd_bus_message_get_member(message)) + " " + path);
    };
    const Slot slot = asBob->listen(
        "type='signal',interface='org.freedesktop.DBus.ObjectManager',path='/dev/genv/Manager'",
        note);
    const std::string id = activate(*asAlice, shell);
    EXPECT_TRUE(asAlice->environment(id, "Deactivate").ok());
    asBob->processUntil([&] { return received.size() >= 2; }, "two signals");
    EXPECT_EQ(received, (std::multiset<std::string>{"InterfacesAdded " + environmentPath(id),
                                                    "InterfacesRemoved " + environmentPath(id)}));
    EXPECT_EQ(asBob->property(environmentPath(id), environmentInterface, "Name"),
              "org.freedesktop.DBus.Error.UnknownObject");
}

TEST_F(Sharing, KnowsTheEnvironmentOfADescendant) {
    const UserProcess shell({.uid = alice, .hasChild = true});
    const std::string id = activate(*asAlice, shell);
    EXPECT_TRUE(asBob->manager("GetEnvironmentByPID", "u", shell.child()).ok());
    EXPECT_EQ(asBob->manager("GetEnvironmentByPID", "u", 0U).error, error::noSuchEnvironment);
    EXPECT_EQ(asBob->manager("GetEnvironmentByPID", "u", 4194305U).error, error::noSuchProcess);
}

TEST_F(Sharing, ListsComputeProcessesWithTheirEnvironment) {
    const UserProcess shell({.uid = alice, .compute = true, .hasChild = true});
    const std::string id = activate(*asAlice, shell);
    const UserProcess daemonised(
        {.uid = alice, .compute = true, .environment = {{"GENV_ENVIRONMENT_ID", id}}});
    const UserProcess liar(
        {.uid = bob, .compute = true, .environment = {{"GENV_ENVIRONMENT_ID", id}}});
    std::map<core::Pid, std::string> listed;
    waitUntil(
        [&] {
            listed.clear();
            const Answer answer = asBob->manager("ListProcesses");
            sd_bus_message* message = answer.message.get();
            sd_bus_message_enter_container(message, 'a', "(uusa(ut))");
            while (sd_bus_message_enter_container(message, 'r', "uusa(ut)") > 0) {
                core::Pid pid = 0;
                core::Uid uid = 0;
                const char* environment = nullptr;
                sd_bus_message_read(message, "uus", &pid, &uid, &environment);
                sd_bus_message_skip(message, "a(ut)");
                sd_bus_message_exit_container(message);
                listed[pid] = environment;
            }
            return listed.size() == 3;
        },
        "three compute processes");
    EXPECT_EQ(listed[shell.child()], id) << "by descent";
    EXPECT_EQ(listed[daemonised.pid()], id) << "by what it says";
    EXPECT_EQ(listed[liar.pid()], "") << "bob cannot be in alice's environment";
}

TEST_F(Sharing, AdministratorsEndTheProcessesOnWhatTheyTake) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    UserProcess program(
        {.uid = alice, .compute = true, .environment = {{"GENV_ENVIRONMENT_ID", id}}});
    UserProcess stranger({.uid = bob, .compute = true});
    EXPECT_TRUE(asAlice->environment(id, "Detach", "au", 0).ok());
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 1U).ok());
    EXPECT_FALSE(program.hasEnded()) << "owners may move about";
    EXPECT_TRUE(asRoot->call(devicePath(0), deviceInterface, "Detach", "s", "").ok());
    EXPECT_EQ(program.wait(), SIGTERM);
    EXPECT_FALSE(stranger.hasEnded());
}

TEST_F(Sharing, TerminatesACompleteStrangerOnlyWhenAuthorized) {
    UserProcess program({.uid = alice, .compute = true});
    UserProcess innocent(alice);
    const auto terminate = [&](Client& client, core::Pid pid) {
        return client.manager("TerminateProcess", "u", pid).error;
    };
    waitUntil([&] { return terminate(*asBob, program.pid()) != error::noSuchProcess; },
              "the program to be seen");
    EXPECT_EQ(terminate(*asBob, program.pid()), error::interactive);
    EXPECT_FALSE(program.hasEnded());
    EXPECT_EQ(terminate(*asRoot, innocent.pid()), error::noSuchProcess) << "it uses no GPU";
    EXPECT_EQ(terminate(*asRoot, 1), error::noSuchProcess);
    EXPECT_EQ(terminate(*asRoot, static_cast<core::Pid>(service.pid())), error::noSuchProcess);
    EXPECT_EQ(terminate(*asAlice, program.pid()), "");
    EXPECT_EQ(program.wait(), SIGTERM);
    EXPECT_FALSE(innocent.hasEnded());
}

TEST_F(Sharing, FindsAJupyterKernelByItsConnectionFileOnly) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    EXPECT_EQ(asAlice->environment(id, "AddKernel", "s", "abc").error, error::noSuchProcess);
    EXPECT_EQ(asAlice->environment(id, "AddKernel", "s", "../x").error, error::invalidArgs);
}

} // namespace
} // namespace genv::tests
