// SPDX-License-Identifier: LGPL-2.1-or-later
// The accounts of received calls: what is counted for a user, for a connection whose user is not
// known yet, and until when.
#include "core/settings/caps.hpp"
#include "dbus/calls/intake.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/sdbus_compat.hpp"
#include "tests/bus/support/client.hpp"
#include "tests/bus/support/service.hpp"
#include "tests/core/fake_processes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

namespace caps = core::caps;
namespace error = dbus::contract::error;

struct NoLog : core::Log {
    void write(core::Severity /*severity*/, const std::string& /*line*/) override {}
};

struct StandingClock : core::Clock {
    [[nodiscard]] core::WallTime wallNow() const override { return {}; }
    [[nodiscard]] core::BootTime bootNow() const override { return now; }
    core::BootTime now{std::chrono::seconds{1000}};
};

// A service whose only method is Ping. It reads and serves when the test says so.
class Intake : public ::testing::Test {
  protected:
    using Calls = std::vector<std::unique_ptr<PendingCall>>;
    static constexpr core::BootTime::duration noTime{0};

    Intake() { dbus::compat::requestName(*connection, dbus::contract::busName); }

    static void send(Client& client, Calls& calls, std::size_t count, std::size_t bytes = 0) {
        const std::string text(bytes, 'x');
        for (std::size_t i = 0; i < count; ++i)
            calls.push_back(
                client.start(managerPath, "org.freedesktop.DBus.Peer", "Ping", "s", text.c_str()));
        client.ping(); // the bus has delivered them
    }
    void read() {
        do
            intake.begin();
        while (dbus::compat::processPending(*connection));
        while (dbus::compat::processPending(*questions)) {
        }
    }
    // Waits for this number of calls, which the bus may deliver in several pieces.
    void take(std::size_t count) {
        waitUntil(
            [&] {
                intake.begin();
                if (dbus::compat::processPending(*connection) && intake.tookLast())
                    --count;
                return count == 0;
            },
            "the calls");
    }
    void serveOne() {
        intake.serveNext();
        while (intake.isServing() && dbus::compat::processPending(*connection)) {
        }
    }
    void serveAll(Client& client, const Calls& calls) {
        waitUntil(
            [&] {
                read();
                serveOne();
                clock.now += std::chrono::milliseconds{1};
                client.ping();
                return std::ranges::all_of(calls, [](const auto& call) { return call->answered; });
            },
            "the answers");
    }
    // Returns how many calls of a user start at once, up to twice the cap.
    std::size_t serveBurst(Client& client) {
        Calls calls;
        std::size_t started = 0;
        while (started < 2 * caps::callsPerUser && !(intake.untilNext() > noTime)) {
            send(client, calls, 1);
            read();
            for (; intake.untilNext() == noTime; ++started)
                serveOne();
        }
        serveAll(client, calls);
        return started;
    }
    // The service knows the user of this client from now on.
    void introduce(Client& client) {
        Calls calls;
        send(client, calls, 1);
        serveAll(client, calls);
    }
    static std::size_t countErrors(const Calls& calls, const std::string& error) {
        return static_cast<std::size_t>(std::ranges::count_if(
            calls, [&](const auto& call) { return call->answer.error == error; }));
    }

    std::unique_ptr<sdbus::IConnection> connection = sdbus::createSystemBusConnection();
    std::unique_ptr<sdbus::IConnection> questions = sdbus::createSystemBusConnection();
    dbus::Callers callers;
    StandingClock clock;
    NoLog log;
    FakeProcesses processes;
    dbus::Intake intake{*connection, *questions, callers, processes, clock, log};
};

// A caller that knows of an exit may rely on the GPUs that it freed.
TEST_F(Intake, StartsACallOnceTheExitsBeforeItAreNoticed) {
    processes.add(10, alice);
    std::vector<core::Pid> exited;
    processes.onExit([&](const core::ProcessIdentity& process) { exited.push_back(process.pid); });
    Client client(alice);
    introduce(client);
    processes.exitUnnoticed(10);
    Calls calls;
    send(client, calls, 1);
    take(1);
    EXPECT_TRUE(exited.empty());
    serveOne();
    EXPECT_EQ(exited, std::vector<core::Pid>{10});
    serveAll(client, calls);
}

TEST_F(Intake, FreesTheBytesOfAConnectionThatLeft) {
    Client staying(alice);
    introduce(staying);
    Calls calls;
    {
        Client leaving(alice);
        introduce(leaving);
        Calls lost;
        send(leaving, lost, 8, 900'000);
        take(8);
        intake.onDisconnected(leaving.uniqueName());
    }
    send(staying, calls, 8, 900'000);
    serveAll(staying, calls);
    EXPECT_EQ(countErrors(calls, ""), 8U);
}

TEST_F(Intake, FreesThePlaceOfAConnectionThatLeftBeforeItsUserWasKnown) {
    {
        Client leaving(alice);
        Calls lost;
        const std::size_t count = caps::bytesOfStrangers / 1'000'000;
        send(leaving, lost, count, 1'000'000);
        take(count);
        intake.onDisconnected(leaving.uniqueName());
    }
    Client his(bob);
    Calls calls;
    send(his, calls, 1, 900'000);
    serveAll(his, calls);
    EXPECT_EQ(calls[0]->answer.error, "");
}

TEST_F(Intake, RemembersTheRateOfAUserWhoRestsWhileOthersCome) {
    Client hers(alice);
    introduce(hers);
    EXPECT_GT(serveBurst(hers), caps::callsPerUser / 2);
    Client his(bob);
    introduce(his);
    EXPECT_LT(serveBurst(hers), caps::callsPerUser / 2) << "she has used up her burst";
}

TEST_F(Intake, HasAPlaceForTheFirstCallOfEveryConnection) {
    std::vector<std::unique_ptr<Client>> flooders;
    Calls flood;
    for (std::size_t sent = 0; sent <= caps::callsOfStrangers; sent += 100) {
        flooders.push_back(std::make_unique<Client>(alice));
        send(*flooders.back(), flood, 100);
    }
    Client his(bob);
    Calls calls;
    send(his, calls, 1);
    take(flood.size() + 1);
    serveAll(his, calls);
    EXPECT_EQ(calls[0]->answer.error, "");
    for (const auto& flooder : flooders)
        flooder->ping();
    EXPECT_GT(countErrors(flood, error::limitsExceeded), 0U);
}

TEST_F(Intake, HasAPlaceForALargeFirstCallBesideAFloodOfLargeOnes) {
    Client hers(alice);
    Calls flood;
    send(hers, flood, caps::bytesOfStrangers / 1'000'000 + 1, 1'000'000);
    Client his(bob);
    Calls calls;
    send(his, calls, 1, 900'000);
    take(flood.size() + 1);
    serveAll(his, calls);
    EXPECT_EQ(calls[0]->answer.error, "");
    serveAll(hers, flood);
    EXPECT_GT(countErrors(flood, error::limitsExceeded), 0U);
}

TEST_F(Intake, RefusesLargeCallsOfANewConnectionBeyondWhatAllOfThemMayHave) {
    constexpr std::size_t fitting = caps::bytesOfStrangers / 1'000'000;
    constexpr std::size_t excess = 3;
    Client hers(alice);
    Calls flood;
    send(hers, flood, fitting + excess, 1'000'000);
    take(flood.size());
    serveAll(hers, flood);
    const auto refused = std::ranges::count_if(flood, [](const auto& call) {
        return call->answer.text.find("too many calls from new connections") != std::string::npos;
    });
    EXPECT_EQ(static_cast<std::size_t>(refused), excess);
}

TEST_F(Intake, BeginsACallOfANewConnectionWhileAFloodIsUnread) {
    Client his(bob);
    Calls calls;
    send(his, calls, 1);
    Client hers(alice);
    Calls flood;
    send(hers, flood, 8, 900'000);
    take(1);
    waitUntil(
        [&] {
            dbus::compat::processPending(*questions);
            return intake.untilNext() == noTime;
        },
        "the bus to name him");
    serveOne();
    his.ping();
    EXPECT_TRUE(calls[0]->answered);
    serveAll(hers, flood);
}

TEST_F(Intake, RefusesLargeCallsOfUsersButNotOfRoot) {
    const std::size_t large = caps::bytesPerUsersCall + 1;
    for (const bool isKnown : {false, true}) {
        Client hers(alice);
        Client roots(root);
        if (isKnown) {
            introduce(hers);
            introduce(roots);
        }
        Calls calls;
        send(hers, calls, 1, large);
        serveAll(hers, calls);
        EXPECT_EQ(calls[0]->answer.error, error::invalidArgs);
        EXPECT_NE(calls[0]->answer.text.find("the arguments are too large"), std::string::npos);
        Calls others;
        send(roots, others, 1, large);
        serveAll(roots, others);
        EXPECT_EQ(others[0]->answer.error, "");
    }
}

} // namespace
} // namespace genv::tests
