// SPDX-License-Identifier: LGPL-2.1-or-later
// The loop wakes up only for work, and never to poll for it: a flood must not cost more than its
// calls.
#include "dbus/calls/callers.hpp"
#include "dbus/calls/intake.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/raw_bus.hpp"
#include "dbus/contract/sdbus_compat.hpp"
#include "service/loop/bus_source.hpp"
#include "service/loop/system_clock.hpp"
#include "tests/bus/support/client.hpp"
#include "tests/bus/support/service.hpp"
#include "tests/core/fake_processes.hpp"

#include <glib.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

int polls = 0;

gint countingPoll(GPollFD* descriptors, guint count, gint timeout) {
    static_assert(sizeof(GPollFD) == sizeof(pollfd));
    ++polls;
    return ::poll(reinterpret_cast<pollfd*>(descriptors), count, timeout);
}

struct NoLog : core::Log {
    void write(core::Severity /*severity*/, const std::string& /*line*/) override {}
};

// A service whose only method is Ping.
class BusSourceTest : public ::testing::Test {
  protected:
    BusSourceTest() { dbus::compat::requestName(*connection, dbus::contract::busName); }
    ~BusSourceTest() override { g_main_context_set_poll_func(nullptr, nullptr); }

    void send(int count) {
        for (int i = 0; i < count; ++i)
            calls.push_back(client.start(managerPath, "org.freedesktop.DBus.Peer", "Ping"));
        client.ping(); // the bus has delivered them
    }
    void serveAll() {
        waitUntil(
            [&] {
                while (g_main_context_iteration(nullptr, FALSE) != FALSE) {
                }
                client.ping();
                return calls.back()->answered;
            },
            "the answers");
    }
    // Runs the loop for a fixed time, whether it has work all the time or not.
    static void runLoop() {
        const std::unique_ptr<GMainLoop, decltype(&g_main_loop_unref)> loop(
            g_main_loop_new(nullptr, FALSE), &g_main_loop_unref);
        g_timeout_add(
            300,
            [](gpointer data) {
                g_main_loop_quit(static_cast<GMainLoop*>(data));
                return static_cast<gboolean>(G_SOURCE_REMOVE);
            },
            loop.get());
        g_main_loop_run(loop.get());
    }

    std::unique_ptr<sdbus::IConnection> connection = sdbus::createSystemBusConnection();
    std::unique_ptr<sdbus::IConnection> questions = sdbus::createSystemBusConnection();
    dbus::Callers callers;
    service::SystemClock clock;
    NoLog log;
    FakeProcesses processes;
    dbus::Intake intake{*connection, *questions, callers, processes, clock, log};
    service::BusSource source{*connection, *questions, intake, [] { FAIL() << "the bus is gone"; }};
    Client client{alice};
    std::vector<std::unique_ptr<PendingCall>> calls;
};

TEST_F(BusSourceTest, WaitsForABusThatReadsNothingWithoutLooking) {
    send(100);
    serveAll(); // and the service knows alice by now
    calls.clear();
    send(120); // as many as the bus permits a connection
    signalDaemon("bus", SIGSTOP);
    g_main_context_set_poll_func(nullptr, countingPoll);
    polls = 0;
    runLoop();
    g_main_context_set_poll_func(nullptr, nullptr);
    signalDaemon("bus", SIGCONT);
    EXPECT_LT(polls, 1000) << "for 120 calls";
    serveAll();
    for (const auto& call : calls)
        EXPECT_TRUE(call->answered && call->answer.ok()) << call->answer.text;
}

// The changes of one reply are announced before another message changes something.
TEST_F(BusSourceTest, HandlesOneReplyInAnIterationAlsoBehindACall) {
    send(1);
    serveAll(); // and the service knows alice by now
    bool isAnnounced = false;
    const Slot announcement = client.listen("type='signal',interface='dev.genv.Test'",
                                            [&](sd_bus_message*) { isAnnounced = true; });
    send(1);
    const auto bus =
        dbus::compat::makeProxy(*connection, dbus::contract::busDriver, "/org/freedesktop/DBus");
    int replies = 0;
    for (int i = 0; i < 2; ++i)
        dbus::compat::send(*bus, dbus::compat::makeCall(*bus, dbus::contract::busDriver, "GetId"),
                           std::chrono::microseconds::max(),
                           [&](sdbus::Message& /*reply*/, const sdbus::Error* error) {
                               EXPECT_EQ(error, nullptr);
                               ++replies;
                           });
    const auto object = sdbus::createObject(*connection, sdbus::ObjectPath{managerPath});
    object->emitSignal("Asked").onInterface("dev.genv.Test");
    client.processUntil([&] { return isAnnounced; }, "the signal behind the questions");
    client.ping(); // the bus has delivered the call and both replies
    waitUntil(
        [&] {
            const int before = replies;
            g_main_context_iteration(nullptr, FALSE);
            EXPECT_LE(replies, before + 1);
            return replies == 2;
        },
        "the replies");
    serveAll();
}

// A message that was not sent yet may be overtaken by an answer to another caller. So only little
// is given to the kernel, and the service begins no further call meanwhile.
TEST_F(BusSourceTest, BeginsNoCallWhileTheBusTakesNothing) {
    send(1);
    serveAll(); // and the service knows alice by now
    send(1);
    signalDaemon("bus", SIGSTOP);
    const dbus::raw::Bus bus(*connection);
    const auto object = sdbus::createObject(*connection, sdbus::ObjectPath{managerPath});
    const std::string kibibyte(1024, 'x');
    std::size_t kibibytes = 0;
    while (bus.unsent() == 0U && kibibytes < 10'000) {
        object->emitSignal("Filling").onInterface("dev.genv.Test").withArguments(kibibyte);
        ++kibibytes;
    }
    const auto unsent = bus.unsent();
    while (g_main_context_iteration(nullptr, FALSE) != FALSE) {
    }
    const auto unsentThen = bus.unsent();
    signalDaemon("bus", SIGCONT);
    EXPECT_LT(kibibytes, 100U) << "the kernel keeps more than it is to";
    EXPECT_EQ(unsentThen, unsent) << "a call was answered";
    serveAll();
    EXPECT_TRUE(calls.back()->answer.ok()) << calls.back()->answer.text;
}

} // namespace
} // namespace genv::tests
