// SPDX-License-Identifier: LGPL-2.1-or-later
// Users wait for GPUs: first come, first served, also when clients disconnect, when requests are
// refused meanwhile, and across a restart of the service.
#include "core/settings/caps.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <fstream>
#include <regex>

namespace genv::tests {
namespace {

using Ids = std::vector<std::string>;
using Devices = std::vector<std::uint32_t>;

constexpr const char* noReply = "org.freedesktop.DBus.Error.NoReply";
constexpr const char* timeoutError = "org.freedesktop.DBus.Error.Timeout";

// Carol holds the first of two GPUs. Alice and bob have one environment each.
class Waits : public BusTest {
  protected:
    Waits()
        : BusTest({{"GENV_MOCK_DEVICE_COUNT", "2"}}), his(activate(*asBob, bobs)),
          hers(activate(*asAlice, alices)), carolsId(activate(*asCarol, carols, 1)) {}

    // Calls Attach with a wait. The call is in the queue or answered when this returns.
    std::unique_ptr<PendingCall> wait(Client& client, const std::string& id, std::uint32_t count) {
        const std::size_t before = waitingIn(*asRoot).size();
        auto call = client.start(environmentPath(id), environmentInterface, "Attach", "a{sv}", 2,
                                 "count", "u", count, "wait", "b", 1);
        settle(client, *call, before + 1);
        return call;
    }
    // Calls Activate, and waits for one device more than is free.
    std::unique_ptr<PendingCall> activateAndWait(Client& client, const UserProcess& process) {
        const std::size_t before = waitingIn(*asRoot).size();
        auto call = client.start(managerPath, managerInterface, "Activate", "a{sv}", 3, "pid", "u",
                                 process.pid(), "gpus", "u", 2U, "wait", "b", 1);
        settle(client, *call, before + 1);
        return call;
    }
    void settle(Client& client, const PendingCall& call, std::size_t waiting) {
        waitUntil(
            [&] {
                while (sd_bus_process(client.bus(), nullptr) > 0) {
                }
                return call.answered || waitingIn(*asRoot).size() == waiting;
            },
            "a place in the queue");
    }
    static bool isAnswered(Client& client, const PendingCall& call) {
        client.ping();
        return call.answered;
    }
    void freeCarols() { EXPECT_TRUE(asCarol->environment(carolsId, "Detach", "au", 0).ok()); }

    UserProcess alices{alice};
    UserProcess bobs{bob};
    UserProcess carols{carol};
    const std::string his;
    const std::string hers;
    const std::string carolsId;
};

TEST_F(Waits, FollowTheOrderThatAReloadBrings) {
    const UserProcess another(alice);
    const std::string holder = activate(*asAlice, another, 1);
    const auto take = [this](const std::string& text) {
        std::ofstream(Service::configurationFolder() / "genvd.conf") << text;
        const Answer answer = asRoot->manager("Reload");
        EXPECT_TRUE(answer.ok()) << answer.text;
    };
    std::vector<std::unique_ptr<PendingCall>> calls;
    for (int i = 0; i < 60; ++i)
        calls.push_back(wait(*asAlice, hers, 1));
    for (int i = 0; i < 4; ++i)
        calls.push_back(wait(*asBob, his, 1));
    const auto byArrival = queueOf(*asRoot);
    ASSERT_EQ(byArrival.size(), 64U);
    EXPECT_EQ(byArrival.front().environment, hers);
    take("[Queue]\nOrder=fair\n");
    auto fair = queueOf(*asRoot);
    std::rotate(fair.begin(), fair.begin() + 4, fair.end());
    EXPECT_EQ(fair, byArrival) << "alice, who holds a GPU, waits behind bob";
    take("[Queue]\nOrder=fair\n[User bob]\nWeight=1\n[User alice]\nWeight=1000\n");
    EXPECT_EQ(queueOf(*asRoot).size(), 64U);
    take("");
    EXPECT_EQ(queueOf(*asRoot), byArrival);
    EXPECT_FALSE(isAnswered(*asAlice, *calls.front()));
    take("[Queue]\nOrder=fair\n");
    EXPECT_TRUE(asCarol->environment(carolsId, "Detach", "au", 0).ok());
    waitUntil([&] { return isAnswered(*asBob, *calls[60]); }, "bob's grant");
    EXPECT_FALSE(isAnswered(*asAlice, *calls.front()));
}

TEST_F(Waits, AreServedInTheOrderOfAsking) {
    const auto first = wait(*asAlice, hers, 2);
    const auto second = wait(*asBob, his, 2);
    EXPECT_EQ(waitingIn(*asRoot), (Ids{hers, his}));
    freeCarols();
    EXPECT_EQ(asAlice->finish(*first).readUnsignedList(), (Devices{0, 1}));
    EXPECT_EQ(waitingIn(*asRoot), Ids{his});
    EXPECT_FALSE(isAnswered(*asBob, *second));
    EXPECT_TRUE(asAlice->environment(hers, "Detach", "au", 0).ok());
    EXPECT_EQ(asBob->finish(*second).readUnsignedList(), (Devices{0, 1}));
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

TEST_F(Waits, AreListedWithWhatIsMissing) {
    ASSERT_TRUE(asAlice->environment(hers, "Attach", "a{sv}", 1, "index", "u", 1U).ok());
    const auto call = wait(*asAlice, hers, 2);
    const auto rows = queueOf(*asBob);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].environment, hers);
    EXPECT_EQ(rows[0].uid, alice);
    EXPECT_EQ(rows[0].count, 1U);
    EXPECT_GT(rows[0].since, 0U);
}

TEST_F(Waits, AreDescribedWithWhatTheyWaitFor) {
    const auto first = wait(*asBob, his, 2);
    const auto second = wait(*asAlice, hers, 1);
    const auto rows = describedQueue(*asCarol);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("waits-for"), "devices");
    EXPECT_EQ(rows[0].at("uid"), std::to_string(bob));
    EXPECT_EQ(rows[0].at("count"), "2");
    EXPECT_EQ(rows[1].at("waits-for"), "earlier-requests");
    EXPECT_EQ(rows[1].at("position"), "2");
    EXPECT_FALSE(rows[1].contains("limit"));
}

TEST_F(Waits, OfActivateMakeTheEnvironmentAtOnceAndTakeItAlongWhenTheCallerLeaves) {
    const UserProcess shell(alice);
    auto client = std::make_unique<Client>(alice);
    const auto call = activateAndWait(*client, shell);
    EXPECT_FALSE(call->answered);
    const std::string id = std::to_string(shell.pid());
    EXPECT_EQ(waitingIn(*asRoot), Ids{id});
    EXPECT_EQ(environmentCount(), "4");
    EXPECT_EQ(asBob->property(environmentPath(id), environmentInterface, "User"), "alice");
    client.reset();
    waitUntil([&] { return environmentCount() == "3"; }, "the environment to go");
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

TEST_F(Waits, OfActivateLeaveTheEnvironmentToThoseWhoJoinedIt) {
    const UserProcess shell(alice);
    const UserProcess other(alice);
    auto client = std::make_unique<Client>(alice);
    const auto call = activateAndWait(*client, shell);
    const std::string id = std::to_string(shell.pid());
    ASSERT_TRUE(
        asAlice->manager("Activate", "a{sv}", 2, "pid", "u", other.pid(), "id", "s", id.c_str())
            .ok());
    client.reset();
    waitUntil([&] { return waitingIn(*asRoot).empty(); }, "the wait to end");
    EXPECT_EQ(environmentCount(), "4");
    EXPECT_EQ(devicesOf(id), "");
}

TEST_F(Waits, EndInTimeAndLeaveNothing) {
    const UserProcess shell(bob);
    const auto attach =
        asAlice->start(environmentPath(hers), environmentInterface, "Attach", "a{sv}", 3, "count",
                       "u", 2U, "wait", "b", 1, "timeout", "t", std::uint64_t{1});
    const auto activation =
        asBob->start(managerPath, managerInterface, "Activate", "a{sv}", 4, "pid", "u", shell.pid(),
                     "gpus", "u", 2U, "wait", "b", 1, "timeout", "t", std::uint64_t{1});
    EXPECT_EQ(asAlice->finish(*attach).error, timeoutError);
    EXPECT_EQ(asBob->finish(*activation).error, timeoutError);
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
    EXPECT_EQ(environmentCount(), "3");
    EXPECT_EQ(holdersOf(*asRoot).size(), 1U);
}

TEST_F(Waits, OfThoseWhoLeaveHoldUpNobody) {
    auto client = std::make_unique<Client>(alice);
    const auto first = wait(*client, hers, 2);
    const auto second = wait(*asBob, his, 1);
    EXPECT_FALSE(isAnswered(*asBob, *second)) << "the free one is kept for alice";
    client.reset();
    EXPECT_EQ(asBob->finish(*second).readUnsignedList(), Devices{1});
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

// The service receives the call and the end of its connection together, before it has looked up the
// owner. Root makes no call here that could reveal the end earlier.
TEST_F(Waits, OfCallersThatLeaveBeforeTheyBeginAreNotBegun) {
    constexpr core::Uid owner = 5000;
    const UserProcess shell(owner);
    const UserProcess other(owner);
    auto client = std::make_unique<Client>(root);
    ASSERT_TRUE(client->manager("Reload").ok()) << "so that the service knows the connection";
    ::kill(service.pid(), SIGSTOP);
    const auto call =
        client->start(managerPath, managerInterface, "Activate", "a{sv}", 4, "pid", "u",
                      shell.pid(), "gpus", "u", 2U, "wait", "b", 1, "uid", "u", owner);
    client.reset();
    asRoot->ping();
    ::kill(service.pid(), SIGCONT);
    // The call concerns the same owner, so it is answered later.
    ASSERT_TRUE(
        asRoot->manager("Activate", "a{sv}", 2, "pid", "u", other.pid(), "uid", "u", owner).ok());
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
    EXPECT_EQ(environmentCount(), "4");
}

TEST_F(Waits, KeepWhatIsFreeAgainstThoseWhoDoNotWaitAndNameTheHolders) {
    const auto call = wait(*asAlice, hers, 2);
    const Answer refused = asBob->environment(his, "Attach", "a{sv}", 1, "count", "u", 1U);
    EXPECT_EQ(refused.error, error::deviceUnavailable);
    EXPECT_TRUE(std::regex_search(refused.text,
                                  std::regex(R"(; carol holds GPU 0 \(environment )" + carolsId +
                                             R"(\) since \w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$)")))
        << refused.text;
    EXPECT_EQ(devicesOf(his), "");
}

TEST_F(Waits, AreWithinTheLimitsOfTheMomentOfTheGrant) {
    const auto call = wait(*asAlice, hers, 2);
    std::ofstream(Service::configurationFolder() / "genvd.conf")
        << "[Limits]\nMaxDevicesPerUser=1\n";
    ASSERT_TRUE(asRoot->manager("Reload").ok());
    freeCarols();
    const Answer& refused = asAlice->finish(*call);
    EXPECT_EQ(refused.error, error::quotaExceeded);
    EXPECT_NE(refused.text.find("MaxDevicesPerUser"), std::string::npos) << refused.text;
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
    EXPECT_EQ(devicesOf(hers), "");
}

TEST_F(Waits, AreCountedPerUser) {
    std::vector<std::unique_ptr<PendingCall>> calls;
    for (std::size_t i = 0; i < core::caps::waitsPerUser; ++i)
        calls.push_back(wait(*asAlice, hers, 2));
    ASSERT_EQ(waitingIn(*asRoot).size(), core::caps::waitsPerUser);
    EXPECT_EQ(
        asAlice->environment(hers, "Attach", "a{sv}", 2, "count", "u", 2U, "wait", "b", 1).error,
        error::limitsExceeded);
    const auto bobsCall = wait(*asBob, his, 2);
    EXPECT_EQ(waitingIn(*asRoot).size(), core::caps::waitsPerUser + 1);
    EXPECT_FALSE(isAnswered(*asBob, *bobsCall));
}

TEST_F(Waits, ForMoreThanTheMachineHasAreRefusedAtOnce) {
    EXPECT_EQ(
        asAlice->environment(hers, "Attach", "a{sv}", 2, "count", "u", 3U, "wait", "b", 1).error,
        error::notEnoughDevices);
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

TEST_F(Waits, TakeATimeoutOnlyWhereTheyWaitForSomething) {
    EXPECT_EQ(asAlice
                  ->environment(hers, "Attach", "a{sv}", 2, "count", "u", 2U, "timeout", "t",
                                std::uint64_t{5})
                  .error,
              error::invalidArgs);
    const UserProcess shell(alice);
    EXPECT_EQ(
        asAlice->manager("Activate", "a{sv}", 2, "pid", "u", shell.pid(), "wait", "b", 1).error,
        error::invalidArgs)
        << "no devices to wait for";
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

TEST_F(Waits, AreAuthorizedBeforeTheyBegin) {
    const Rule rule("no-attach", "action.id == 'dev.genv.manager.attach'", "NO");
    const UserProcess shell(alice);
    EXPECT_EQ(
        asAlice->environment(hers, "Attach", "a{sv}", 2, "count", "u", 2U, "wait", "b", 1).error,
        error::accessDenied);
    EXPECT_EQ(asAlice
                  ->manager("Activate", "a{sv}", 3, "pid", "u", shell.pid(), "gpus", "u", 2U,
                            "wait", "b", 1)
                  .error,
              error::accessDenied);
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
    EXPECT_EQ(environmentCount(), "3");
}

TEST_F(Waits, ThatAreCancelledAreUnavailableAndAreNotCalledAgain) {
    const UserProcess shell(alice);
    const auto attach = wait(*asBob, his, 2);
    const auto activation = activateAndWait(*asAlice, shell);
    const auto rows = queueOf(*asRoot);
    EXPECT_EQ(asBob->manager("CancelWait", "t", rows[1].ticket).error, error::interactive);
    EXPECT_EQ(queueOf(*asRoot), rows);
    EXPECT_TRUE(asBob->manager("CancelWait", "t", rows[0].ticket).ok());
    const Answer own = asBob->finish(*attach);
    EXPECT_EQ(own.error, error::deviceUnavailable);
    EXPECT_EQ(own.text, "the wait was canceled");
    EXPECT_TRUE(asRoot->manager("CancelWait", "t", rows[1].ticket).ok());
    const Answer others = asAlice->finish(*activation);
    EXPECT_EQ(others.error, error::deviceUnavailable);
    EXPECT_EQ(others.text, "the wait was canceled by root (0)");
    EXPECT_EQ(environmentCount(), "3");
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
    for (const std::uint64_t ticket : {rows[0].ticket, rows[1].ticket, std::uint64_t{0}})
        EXPECT_EQ(asRoot->manager("CancelWait", "t", ticket).error, "dev.genv.Error.NoSuchWait");
}

TEST_F(Waits, ThatAreCancelledWhileTheirCallersAreGoneAreSaidToBe) {
    const UserProcess shell(alice);
    const auto attach = wait(*asBob, his, 2);
    const auto activation = activateAndWait(*asAlice, shell);
    const auto rows = queueOf(*asRoot);
    service.restart(SIGKILL);
    for (const Waiting& row : rows)
        EXPECT_TRUE(asRoot->manager("CancelWait", "t", row.ticket).ok());
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
    EXPECT_EQ(environmentCount(), "3");
    for (const char* expected : {error::deviceUnavailable, ""}) {
        const auto again = asBob->start(environmentPath(his), environmentInterface, "Attach",
                                        "a{sv}", 2, "count", "u", 1U, "wait", "b", 1);
        EXPECT_EQ(asBob->finish(*again).error, "") << "another request is another wait";
        EXPECT_TRUE(asBob->environment(his, "Detach", "au", 0).ok());
        const auto same = wait(*asBob, his, 2);
        EXPECT_EQ(isAnswered(*asBob, *same) ? asBob->finish(*same).error : "", expected);
        const auto activate =
            asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 3, "pid", "u",
                           shell.pid(), "gpus", "u", 2U, "wait", "b", 1);
        settle(*asAlice, *activate, *expected != '\0' ? 99 : 2);
        EXPECT_EQ(isAnswered(*asAlice, *activate) ? asAlice->finish(*activate).error : "",
                  expected);
    }
    for (const Waiting& row : queueOf(*asRoot))
        EXPECT_GT(row.ticket, rows[1].ticket) << "no ticket is given twice";
}

TEST_F(Waits, AreToldWhenTheyBeginAndEnd) {
    RecordedSignals signals(*asBob);
    asBob->ping();
    auto client = std::make_unique<Client>(alice);
    const auto call = wait(*client, hers, 2);
    asBob->processUntil([&] { return signals.queueChanges == 1; }, "the wait to be told");
    client.reset();
    asBob->processUntil([&] { return signals.queueChanges == 2; }, "its end to be told");
}

TEST_F(Waits, EndWithANoticeToTheOwner) {
    RecordedSignals signals(*asAlice);
    asAlice->ping();
    const auto call = wait(*asAlice, hers, 2);
    freeCarols();
    ASSERT_TRUE(asAlice->finish(*call).ok());
    asAlice->processUntil([&] { return signals.notice("granted") != nullptr; }, "the notice");
    const RecordedSignals::Notice& notice = *signals.notice("granted");
    EXPECT_EQ(notice.uid, alice);
    EXPECT_EQ(notice.environment, hers);
    EXPECT_EQ(notice.details.at("devices"), "0,1");
    EXPECT_TRUE(notice.details.contains("waited"));
}

TEST_F(Waits, ThatNeverLastedAreNoNews) {
    RecordedSignals signals(*asAlice);
    asAlice->ping();
    ASSERT_TRUE(
        asAlice->environment(hers, "Attach", "a{sv}", 2, "count", "u", 1U, "wait", "b", 1).ok());
    asRoot->manager("ListQueue");
    asAlice->ping();
    EXPECT_EQ(signals.notice("granted"), nullptr);
}

TEST_F(Waits, EndWithTheEnvironment) {
    const auto call = wait(*asAlice, hers, 2);
    alices.kill(SIGKILL);
    EXPECT_EQ(asAlice->finish(*call).error, error::noSuchEnvironment);
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

TEST_F(Waits, AreServedWhenAHolderIsKilled) {
    const auto first = wait(*asAlice, hers, 2);
    const auto second = wait(*asBob, his, 1);
    carols.kill(SIGKILL);
    EXPECT_EQ(asAlice->finish(*first).readUnsignedList(), (Devices{0, 1}));
    EXPECT_EQ(waitingIn(*asRoot), Ids{his});
}

// As `systemctl restart` does: no client gets an answer, because the wait continues.
TEST_F(Waits, AreCutOffWithoutAnAnswerWhenTheServiceIsStopped) {
    const UserProcess shell(alice);
    const auto attach = wait(*asBob, his, 2);
    const auto activation = activateAndWait(*asAlice, shell);
    const auto rows = queueOf(*asRoot);
    EXPECT_EQ(service.end(SIGTERM), 0);
    EXPECT_EQ(asBob->finish(*attach).error, noReply);
    EXPECT_EQ(asAlice->finish(*activation).error, noReply);
    EXPECT_EQ(service.log().find("refused"), std::string::npos);
    service.start();
    EXPECT_EQ(queueOf(*asRoot), rows);
}

TEST_F(Waits, KeepTheirPlacesOverARestartInWhateverOrderTheyCallAgain) {
    const UserProcess shell(alice);
    const auto before = [&] {
        const auto first = activateAndWait(*asAlice, shell);
        const auto second = wait(*asBob, his, 2);
        const auto third = wait(*asAlice, hers, 1);
        auto rows = queueOf(*asRoot);
        service.end(SIGKILL);
        EXPECT_EQ(asAlice->finish(*first).error, noReply);
        EXPECT_EQ(asBob->finish(*second).error, noReply);
        EXPECT_EQ(asAlice->finish(*third).error, noReply);
        return rows;
    }();
    const std::string id = std::to_string(shell.pid());
    ASSERT_EQ(before.size(), 3U);
    EXPECT_EQ(before[0].environment, id);
    service.start();
    EXPECT_EQ(queueOf(*asRoot), before);
    freeCarols();
    EXPECT_TRUE(holdersOf(*asRoot).empty()) << "kept for the first, who has not called again yet";

    const auto third = asAlice->start(environmentPath(hers), environmentInterface, "Attach",
                                      "a{sv}", 2, "count", "u", 1U, "wait", "b", 1);
    const auto second = asBob->start(environmentPath(his), environmentInterface, "Attach", "a{sv}",
                                     2, "count", "u", 2U, "wait", "b", 1);
    const auto first = asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 3, "pid",
                                      "u", shell.pid(), "gpus", "u", 2U, "wait", "b", 1);
    EXPECT_EQ(asAlice->finish(*first).readString(), id);
    EXPECT_EQ(devicesOf(id), "0,1");
    EXPECT_EQ(waitingIn(*asRoot), (Ids{his, hers}));
    EXPECT_TRUE(asAlice->environment(id, "Deactivate").ok());
    EXPECT_EQ(asBob->finish(*second).readUnsignedList(), (Devices{0, 1}));
    EXPECT_EQ(waitingIn(*asRoot), Ids{hers});
    EXPECT_TRUE(asBob->environment(his, "Detach", "au", 0).ok());
    EXPECT_EQ(asAlice->finish(*third).readUnsignedList(), Devices{0});
    EXPECT_EQ(waitingIn(*asRoot), Ids{}) << "each had one place";
}

TEST_F(Waits, OfActivateThatWereCalledAgainStillTakeTheEnvironmentAlong) {
    const UserProcess shell(alice);
    const auto cutOff = activateAndWait(*asAlice, shell);
    const std::string id = std::to_string(shell.pid());
    service.restart(SIGKILL);
    auto client = std::make_unique<Client>(alice);
    // The service knows her uid, so it asks polkit about the calls in their order and gets the
    // answers in that order. The first call waits again once the second is answered.
    EXPECT_TRUE(client->manager("GetLimits", "u", alice).ok());
    const auto again = client->start(managerPath, managerInterface, "Activate", "a{sv}", 3, "pid",
                                     "u", shell.pid(), "gpus", "u", 2U, "wait", "b", 1);
    EXPECT_TRUE(client->environment(id, "Configure", "a{sv}as", 0, 0).ok());
    EXPECT_EQ(waitingIn(*asRoot), Ids{id});
    EXPECT_EQ(environmentCount(), "4");
    client.reset();
    waitUntil([&] { return environmentCount() == "3"; }, "the environment to go");
    EXPECT_EQ(waitingIn(*asRoot), Ids{});
}

} // namespace
} // namespace genv::tests
