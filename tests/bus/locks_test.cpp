// SPDX-License-Identifier: LGPL-2.1-or-later
// Locks among users who share a GPU: one holder at a time, in the order of the requests, for as
// long as a copy of the descriptor is open, also across a restart of the service.
#include "tests/bus/support/descriptor_store.hpp"
#include "tests/bus/support/fixture.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace genv::tests {
namespace {

// Alice, bob and carol share the one GPU.
class Locks : public BusTest {
  protected:
    Locks()
        : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}}), hers(activate(*asAlice, alices)),
          his(activate(*asBob, bobs)), carolsId(activate(*asCarol, carols)) {
        share(*asAlice, hers);
        share(*asBob, his);
        share(*asCarol, carolsId);
    }

    static void share(Client& client, const std::string& id) {
        allowOverSubscribe(client, id);
        EXPECT_TRUE(
            client.environment(id, "Attach", "a{sv}", 2, "index", "u", 0U, "over-subscribe", "b", 1)
                .ok());
    }
    // Requests the lock. The request is in the queue when this returns, because polkit answers in
    // the order of the questions.
    static std::unique_ptr<PendingCall> ask(Client& client, const std::string& id) {
        auto call = client.start(environmentPath(id), environmentInterface, "Lock");
        EXPECT_TRUE(client.environment(id, "Configure", "a{sv}as", 0, 0).ok());
        return call;
    }
    // Returns the lock's descriptor from an answer. The answer's own copy is closed.
    static SharedDescriptor take(Client& client, std::unique_ptr<PendingCall> call) {
        const Answer& answer = client.finish(*call);
        EXPECT_EQ(answer.error, "") << answer.text;
        int fd = -1;
        if (!answer.ok() || sd_bus_message_read(answer.message.get(), "h", &fd) <= 0)
            throw std::runtime_error("no lock: " + answer.text);
        return own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    static SharedDescriptor lock(Client& client, const std::string& id) {
        return take(client, client.start(environmentPath(id), environmentInterface, "Lock"));
    }
    static bool isAnswered(Client& client, const PendingCall& call) {
        client.ping();
        return call.answered;
    }
    std::string lockedBy() { return asRoot->property(devicePath(0), deviceInterface, "LockedBy"); }
    void waitForLockOf(const std::string& id) {
        waitUntil([&] { return lockedBy() == id; }, "the lock to change hands");
    }

    UserProcess alices{alice};
    UserProcess bobs{bob};
    UserProcess carols{carol};
    const std::string hers;
    const std::string his;
    const std::string carolsId;
};

TEST_F(Locks, GoToOneAtATimeInTheOrderOfAsking) {
    SharedDescriptor carolsLock = lock(*asCarol, carolsId);
    auto bobsCall = ask(*asBob, his);
    auto alicesCall = ask(*asAlice, hers);
    EXPECT_EQ(lockedBy(), carolsId);
    EXPECT_FALSE(isAnswered(*asBob, *bobsCall));
    carolsLock.reset();
    SharedDescriptor bobsLock = take(*asBob, std::move(bobsCall));
    EXPECT_EQ(lockedBy(), his);
    EXPECT_FALSE(isAnswered(*asAlice, *alicesCall));
    bobsLock.reset();
    const SharedDescriptor alicesLock = take(*asAlice, std::move(alicesCall));
    EXPECT_EQ(lockedBy(), hers);
}

TEST_F(Locks, AreToldAsAPropertyOfTheDevice) {
    std::vector<std::string> received;
    const Slot slot = asBob->listen(
        "type='signal',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
        "path='" +
            devicePath(0) + "'",
        [&](sd_bus_message* message) {
            sd_bus_message_skip(message, "s");
            sd_bus_message_enter_container(message, 'a', "{sv}");
            while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
                const char* name = nullptr;
                const char* value = nullptr;
                sd_bus_message_read(message, "s", &name);
                if (std::string(name) == "LockedBy" &&
                    sd_bus_message_read(message, "v", "s", &value) > 0)
                    received.emplace_back(value);
                else
                    sd_bus_message_skip(message, "v");
                sd_bus_message_exit_container(message);
            }
        });
    SharedDescriptor alicesLock = lock(*asAlice, hers);
    asBob->processUntil([&] { return received.size() == 1; }, "the lock to be told");
    alicesLock.reset();
    asBob->processUntil([&] { return received.size() == 2; }, "its release to be told");
    EXPECT_EQ(received, (std::vector<std::string>{hers, ""}));
}

TEST_F(Locks, ExcludeTwoOfOneEnvironmentToo) {
    SharedDescriptor first = lock(*asAlice, hers);
    auto second = ask(*asAlice, hers);
    EXPECT_FALSE(isAnswered(*asAlice, *second));
    first.reset();
    const SharedDescriptor next = take(*asAlice, std::move(second));
    EXPECT_EQ(lockedBy(), hers);
}

TEST_F(Locks, AreReleasedByAProcessThatIsKilled) {
    SharedDescriptor alicesLock = lock(*asAlice, hers);
    // It has a copy of every descriptor that is open here.
    UserProcess holder(alice);
    alicesLock.reset();
    auto bobsCall = ask(*asBob, his);
    EXPECT_FALSE(isAnswered(*asBob, *bobsCall)) << "the copy keeps it";
    EXPECT_EQ(lockedBy(), hers);
    holder.kill(SIGKILL);
    const SharedDescriptor bobsLock = take(*asBob, std::move(bobsCall));
    EXPECT_EQ(lockedBy(), his);
}

TEST_F(Locks, EndWithTheEnvironmentWhoeverKeepsTheDescriptor) {
    const SharedDescriptor alicesLock = lock(*asAlice, hers);
    auto bobsCall = ask(*asBob, his);
    alices.kill(SIGKILL);
    const SharedDescriptor bobsLock = take(*asBob, std::move(bobsCall));
    EXPECT_EQ(lockedBy(), his);
}

TEST_F(Locks, TakeADevice) {
    EXPECT_TRUE(asAlice->environment(hers, "Detach", "au", 0).ok());
    EXPECT_EQ(asAlice->environment(hers, "Lock").error, error::notAttached);
}

TEST_F(Locks, AreOnesOwn) {
    EXPECT_EQ(asBob->environment(hers, "Lock").error, error::interactive);
    EXPECT_EQ(lockedBy(), "");
}

TEST_F(Locks, PassThoseWhoLeaveWhileTheyWait) {
    SharedDescriptor carolsLock = lock(*asCarol, carolsId);
    auto client = std::make_unique<Client>(alice);
    const auto alicesCall = ask(*client, hers);
    auto bobsCall = ask(*asBob, his);
    client.reset();
    carolsLock.reset();
    const SharedDescriptor bobsLock = take(*asBob, std::move(bobsCall));
    EXPECT_EQ(lockedBy(), his);
}

// -- the service is restarted, and systemd keeps the descriptors

class LocksOverARestart : public Locks {
  protected:
    LocksOverARestart() {
        service.set("NOTIFY_SOCKET", store.address());
        service.restart(SIGTERM);
    }
    void startAgain(const std::map<std::string, SharedDescriptor>& kept) {
        std::map<std::string, int> passed;
        for (const auto& [name, descriptor] : kept)
            passed[name] = *descriptor;
        service.pass(passed);
        service.start();
    }

    DescriptorStore store;
};

TEST_F(LocksOverARestart, AreHeldUntilTheDescriptorIsClosed) {
    SharedDescriptor alicesLock = lock(*asAlice, hers);
    service.end(SIGKILL);
    ASSERT_EQ(store.kept().size(), 1U);
    startAgain(store.kept());
    EXPECT_EQ(lockedBy(), hers);
    auto bobsCall = ask(*asBob, his);
    EXPECT_FALSE(isAnswered(*asBob, *bobsCall));
    alicesLock.reset();
    const SharedDescriptor bobsLock = take(*asBob, std::move(bobsCall));
    EXPECT_EQ(lockedBy(), his);
    EXPECT_EQ(store.received().size(), 1U) << "bob's is kept now, and alice's no longer";
}

TEST_F(LocksOverARestart, AreFreeWhenSystemdDroppedThem) {
    SharedDescriptor alicesLock = lock(*asAlice, hers);
    service.end(SIGKILL);
    alicesLock.reset();
    ASSERT_TRUE(store.kept().empty());
    startAgain({});
    EXPECT_EQ(lockedBy(), "");
    const SharedDescriptor bobsLock = lock(*asBob, his);
    EXPECT_EQ(lockedBy(), his);
}

TEST_F(LocksOverARestart, AreFreeWhenTheyWereReleasedAndSystemdDidNotSee) {
    SharedDescriptor alicesLock = lock(*asAlice, hers);
    service.end(SIGKILL);
    const auto kept = store.received();
    ASSERT_EQ(kept.size(), 1U);
    alicesLock.reset();
    startAgain(kept);
    waitForLockOf("");
    const SharedDescriptor bobsLock = lock(*asBob, his);
    EXPECT_EQ(lockedBy(), his);
}

TEST_F(LocksOverARestart, DoNotOutliveTheirEnvironment) {
    const SharedDescriptor alicesLock = lock(*asAlice, hers);
    service.end(SIGKILL);
    alices.kill(SIGKILL);
    alices.wait();
    const auto kept = store.kept();
    ASSERT_EQ(kept.size(), 1U);
    startAgain(kept);
    waitForLockOf(""); // until a sample finds no process of it on the GPU
    waitUntil([&] { return store.received().empty(); }, "the descriptor to be given back");
}

TEST_F(LocksOverARestart, StayWhenTheServiceIsStoppedAndWaitersAreCutOff) {
    const SharedDescriptor alicesLock = lock(*asAlice, hers);
    const auto bobsCall = ask(*asBob, his);
    EXPECT_EQ(service.end(SIGTERM), 0);
    EXPECT_EQ(asBob->finish(*bobsCall).error, "org.freedesktop.DBus.Error.NoReply");
    startAgain(store.kept());
    EXPECT_EQ(lockedBy(), hers);
}

TEST_F(LocksOverARestart, AreGivenInTheOrderOfAskingBeforeIt) {
    SharedDescriptor alicesLock = lock(*asAlice, hers);
    const auto bobsCutOff = ask(*asBob, his);
    const auto carolsCutOff = ask(*asCarol, carolsId);
    service.end(SIGKILL);
    asBob->finish(*bobsCutOff);
    asCarol->finish(*carolsCutOff);
    startAgain(store.kept());
    auto carolsCall = ask(*asCarol, carolsId);
    alicesLock.reset();
    waitForLockOf("");
    EXPECT_FALSE(isAnswered(*asCarol, *carolsCall)) << "bob's place is kept";
    SharedDescriptor bobsLock = lock(*asBob, his);
    EXPECT_EQ(lockedBy(), his);
    bobsLock.reset();
    const SharedDescriptor carolsLock = take(*asCarol, std::move(carolsCall));
    EXPECT_EQ(lockedBy(), carolsId);
}

TEST_F(LocksOverARestart, AreGoneWithoutSystemdAndItSaysSo) {
    const SharedDescriptor alicesLock = lock(*asAlice, hers);
    service.end(SIGKILL);
    service.start();
    EXPECT_EQ(lockedBy(), "");
    service.waitForLog("the lock of environment " + hers + " is lost");
}

TEST_F(Locks, AreRefusedToWhoseEnvironmentEndsWhileTheyWait) {
    const SharedDescriptor held = lock(*asAlice, hers);
    const auto waiting = ask(*asBob, his);
    EXPECT_FALSE(isAnswered(*asBob, *waiting));
    EXPECT_TRUE(asRoot->environment(his, "Deactivate").ok());
    const Answer& answer = asBob->finish(*waiting);
    EXPECT_EQ(answer.error, error::noSuchEnvironment) << answer.text;
    EXPECT_EQ(lockedBy(), hers);
}

} // namespace
} // namespace genv::tests
