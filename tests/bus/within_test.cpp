// SPDX-License-Identifier: LGPL-2.1-or-later
// Environments within environments on the bus: which devices they take, who may have one, and how
// they end.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <fstream>

namespace genv::tests {
namespace {

using Ids = std::vector<std::string>;

// Alice has an environment with GPUs 0 and 1 of three.
class Within : public BusTest {
  protected:
    Within() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "3"}}), hers(activate(*asAlice, alices, 2)) {}

    static Answer start(Client& client, const std::string& parent, const UserProcess& process,
                        std::uint32_t gpus = 1) {
        return client.manager("Activate", "a{sv}", 3, "within", "s", parent.c_str(), "pid", "u",
                              process.pid(), "gpus", "u", gpus);
    }
    std::unique_ptr<PendingCall> startAndWait(Client& client, const std::string& parent,
                                              const UserProcess& process) {
        const std::size_t before = waitingIn(*asRoot).size();
        auto call = client.start(managerPath, managerInterface, "Activate", "a{sv}", 4, "within",
                                 "s", parent.c_str(), "pid", "u", process.pid(), "gpus", "u", 1U,
                                 "wait", "b", 1);
        waitUntil(
            [&] {
                while (sd_bus_process(client.bus(), nullptr) > 0) {
                }
                return call->answered || waitingIn(*asRoot).size() == before + 1;
            },
            "a place in the queue");
        return call;
    }
    // Returns the rows of ListAttachments as "DEVICE ENVIRONMENT".
    static Ids attachmentsOf(Client& client) {
        const Answer answer = client.manager("ListAttachments");
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "(usstt)");
        Ids rows;
        std::uint32_t device = 0;
        const char* environment = nullptr;
        while (sd_bus_message_read(message, "(usstt)", &device, &environment, nullptr, nullptr,
                                   nullptr) > 0)
            rows.push_back(std::to_string(device) + " " + environment);
        return rows;
    }
    std::string parentOf(const std::string& id) {
        return asRoot->property(environmentPath(id), environmentInterface, "Parent");
    }

    UserProcess alices{alice};
    const std::string hers;
};

TEST_F(Within, TakeOfWhatTheirParentHasAndSayWhoseItIs) {
    const UserProcess task(alice);
    const std::string child = start(*asAlice, hers, task).readString();
    EXPECT_EQ(devicesOf(child), "0");
    EXPECT_EQ(parentOf(child), hers);
    EXPECT_EQ(parentOf(hers), "");
    EXPECT_EQ(devicesOf(hers), "0,1");
    const auto attached = attachmentsOf(*asRoot);
    EXPECT_EQ(attached, (Ids{"0 " + hers, "0 " + child, "1 " + hers})) << "a child comes after";
    const Answer own = asAlice->manager("GetEnvironmentByPID", "u", task.pid());
    const char* path = "";
    ASSERT_GT(sd_bus_message_read(own.message.get(), "o", &path), 0);
    EXPECT_EQ(path, environmentPath(child));
    const UserProcess shell(bob);
    EXPECT_EQ(devicesOf(activate(*asBob, shell, 1)), "2") << "others have what they had";
    const Answer more = asAlice->environment(child, "Attach", "a{sv}", 1, "count", "u", 2U);
    EXPECT_EQ(more.readUnsignedList(), (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(start(*asAlice, hers, UserProcess(alice)).error, error::deviceUnavailable);
}

TEST_F(Within, AreRefusedWhatTheirParentDoesNotHave) {
    const UserProcess task(alice);
    const Answer many = start(*asAlice, hers, task, 3);
    EXPECT_EQ(many.error, error::notEnoughDevices);
    EXPECT_EQ(many.text, "Requested more devices (3) than environment " + hers + " has (2)");
    const Answer other = asAlice->manager("Activate", "a{sv}", 3, "within", "s", hers.c_str(),
                                          "pid", "u", task.pid(), "indices", "au", 1, 2U);
    EXPECT_EQ(other.error, error::noSuchDevice);
    EXPECT_EQ(environmentCount(), "1");
}

TEST_F(Within, AreOneLevelDeepWithinOnesOwn) {
    const UserProcess task(alice);
    const std::string child = start(*asAlice, hers, task).readString();
    const UserProcess inner(alice);
    const Answer nested = start(*asAlice, child, inner);
    EXPECT_EQ(nested.error, error::invalidArgs);
    EXPECT_NE(nested.text.find("environments are one level deep"), std::string::npos);
    EXPECT_EQ(start(*asAlice, "nobody", inner).error, error::noSuchEnvironment);
    EXPECT_EQ(start(*asAlice, "slurm-12", inner).error, error::noSuchEnvironment);
    EXPECT_EQ(start(*asAlice, "a b", inner).error, error::invalidArgs);
    const UserProcess shell(bob);
    const Answer anothers = start(*asBob, hers, shell);
    EXPECT_EQ(anothers.error, error::interactive);
    EXPECT_NE(anothers.text.find("within environment " + hers + " of alice"), std::string::npos)
        << anothers.text;
    EXPECT_EQ(start(*asBob, hers, shell, 0).error, error::interactive) << "also without devices";
    EXPECT_EQ(environmentCount(), "2");
}

TEST_F(Within, MayBeSomebodyElsesWhereRootSaysSo) {
    const UserProcess shell(bob);
    const Answer guest = asRoot->manager("Activate", "a{sv}", 4, "within", "s", hers.c_str(), "uid",
                                         "u", bob, "pid", "u", shell.pid(), "gpus", "u", 1U);
    const std::string id = guest.readString();
    EXPECT_EQ(devicesOf(id), "0");
    EXPECT_EQ(asBob->environment(id, "Attach", "a{sv}", 1, "count", "u", 2U).error,
              error::interactive)
        << "more of alice's takes an administrator again";
    EXPECT_TRUE(asBob->environment(id, "Deactivate").ok());
}

TEST_F(Within, GoByTheirParentAndAreJoinedAsAnyOther) {
    const UserProcess task(alice);
    const UserProcess second(alice);
    const std::string child = start(*asAlice, hers, task).readString();
    const Answer elsewhere =
        asAlice->manager("Activate", "a{sv}", 3, "id", "s", hers.c_str(), "within", "s",
                         hers.c_str(), "pid", "u", second.pid());
    EXPECT_EQ(elsewhere.error, error::invalidArgs);
    const Answer joined = asAlice->manager("Activate", "a{sv}", 3, "id", "s", child.c_str(),
                                           "within", "s", hers.c_str(), "pid", "u", second.pid());
    EXPECT_EQ(joined.readString(), child);
    const UserProcess third(alice);
    EXPECT_TRUE(
        asAlice->manager("Activate", "a{sv}", 2, "id", "s", child.c_str(), "pid", "u", third.pid())
            .ok());
}

TEST_F(Within, WaitForEachOtherAndLoseWhatTheirParentLoses) {
    const UserProcess first(alice);
    const UserProcess second(alice);
    const UserProcess third(alice);
    const std::string a = start(*asAlice, hers, first).readString();
    const std::string b = start(*asAlice, hers, second).readString();
    const auto call = startAndWait(*asAlice, hers, third);
    EXPECT_EQ(waitingIn(*asRoot).size(), 1U);
    EXPECT_FALSE(call->answered) << "although GPU 2 is free";
    EXPECT_TRUE(asAlice->environment(a, "Detach", "au", 0).ok());
    const std::string c = asAlice->finish(*call).readString();
    EXPECT_EQ(devicesOf(c), "0");
    RecordedSignals signals(*asAlice);
    asAlice->ping();
    EXPECT_TRUE(asAlice->environment(hers, "Detach", "au", 1, 0U).ok());
    EXPECT_EQ(devicesOf(c), "");
    asAlice->processUntil([&] { return signals.detached.size() == 2; }, "the signals");
    EXPECT_EQ(signals.detached, (Ids{c + " 0 user", hers + " 0 user"}));
    EXPECT_TRUE(asAlice->environment(hers, "Deactivate").ok());
    asAlice->processUntil([&] { return signals.removed.size() == 4; }, "the signals");
    EXPECT_EQ(signals.removed.back(), hers) << "its children ended before it";
    EXPECT_EQ(environmentCount(), "0");
}

TEST_F(Within, WaitNoLongerThanTheirParentIs) {
    const UserProcess first(alice);
    const UserProcess second(alice);
    ASSERT_TRUE(start(*asAlice, hers, first, 2).ok());
    Client waits(alice);
    const auto call = startAndWait(waits, hers, second);
    alices.kill(SIGKILL);
    EXPECT_EQ(waits.finish(*call).error, error::noSuchEnvironment);
    waitUntil([&] { return environmentCount() == "0"; }, "all of them to end");
}

TEST_F(Within, CountInNoLimitOfTheirOwner) {
    const auto file = Service::configurationFolder() / "genvd.conf";
    std::ofstream(file) << "[Limits]\nMaxDevicesPerUser=2\nMaxEnvironmentsPerUser=1\n"
                           "MaxLifetime=1h\n";
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    const UserProcess task(alice);
    const Answer child = start(*asAlice, hers, task, 2);
    EXPECT_TRUE(child.ok()) << child.text;
    EXPECT_EQ(
        asRoot->property(environmentPath(child.readString()), environmentInterface, "Expires"),
        "0");
    const UserProcess shell(alice);
    EXPECT_EQ(asAlice->manager("Activate", "a{sv}", 1, "pid", "u", shell.pid()).error,
              error::quotaExceeded)
        << "a second one beside it";
    std::filesystem::remove(file);
}

TEST_F(Within, ComeBackOverARestartAndAKill) {
    const UserProcess task(alice);
    const UserProcess second(alice);
    const std::string child = start(*asAlice, hers, task).readString();
    ASSERT_TRUE(start(*asAlice, hers, second).ok());
    for (const int signal : {SIGTERM, SIGKILL}) {
        service.restart(signal);
        EXPECT_EQ(devicesOf(child), "0");
        EXPECT_EQ(parentOf(child), hers);
        EXPECT_EQ(devicesOf(hers), "0,1");
    }
    EXPECT_EQ(start(*asAlice, hers, UserProcess(alice)).error, error::deviceUnavailable);
    service.end(SIGKILL);
    alices.kill(SIGKILL);
    service.start();
    waitUntil([&] { return environmentCount() == "0"; }, "the children to end with their parent");
}

TEST_F(Within, AJobAreItsOwnersToChange) {
    const std::string uuid = asRoot->property(devicePath(2), deviceInterface, "UUID");
    const auto file = Service::configurationFolder() / "genvd.conf";
    std::ofstream(file) << "[Slurm]\nDevices=" << uuid << "\n";
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    ASSERT_TRUE(asRoot
                    ->manager("Activate", "a{sv}", 3, "job", "s", "12", "uid", "u", alice, "uuids",
                              "as", 1, uuid.c_str())
                    .ok());
    const UserProcess task(alice);
    const std::string child = start(*asAlice, "slurm-12", task).readString();
    EXPECT_EQ(devicesOf(child), "2");
    EXPECT_EQ(start(*asBob, "slurm-12", UserProcess(bob), 0).error, error::interactive);
    EXPECT_EQ(asAlice->environment("slurm-12", "Detach", "au", 0).error, error::notSupported);
    EXPECT_TRUE(asAlice->environment(child, "Detach", "au", 0).ok());
    EXPECT_TRUE(asAlice->environment(child, "Attach", "a{sv}", 1, "count", "u", 1U).ok());
    EXPECT_TRUE(asRoot->environment("slurm-12", "Deactivate").ok());
    EXPECT_EQ(environmentCount(), "1") << "the epilog ends both";
    std::filesystem::remove(file);
}

// A child is requested again and again while its parent comes and goes. Each time the child exists
// completely or not at all.
TEST_F(Within, AParentThatEndsAtThatMomentAreRefusedOrEndWithIt) {
    for (int round = 0; round < 20; ++round) {
        UserProcess shell(alice);
        const UserProcess task(alice);
        const std::string parent = activate(*asAlice, shell, 1);
        auto call = asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 3, "within",
                                   "s", parent.c_str(), "pid", "u", task.pid(), "gpus", "u", 1U);
        shell.kill(SIGKILL);
        const Answer& answer = asAlice->finish(*call);
        const bool isRefused =
            answer.error == error::noSuchEnvironment || answer.error == error::noSuchProcess;
        EXPECT_TRUE(answer.ok() || isRefused) << answer.error << ": " << answer.text;
        waitUntil([&] { return environmentCount() == "1"; }, "both to end");
    }
    EXPECT_EQ(holdersOf(*asRoot).size(), 2U) << "all of the children are gone";
}

} // namespace
} // namespace genv::tests
