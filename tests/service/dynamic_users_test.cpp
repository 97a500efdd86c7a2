// SPDX-License-Identifier: LGPL-2.1-or-later
// PID 1 is asked about the users with a uid of systemd's services who log in or use a GPU.
#include "service/dynamic_users.hpp"
#include "service/loop/system_clock.hpp"
#include "tests/bus/support/client.hpp"
#include "tests/bus/support/service.hpp"

#include <gio/gio.h>
#include <glib.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <string>

namespace genv::tests {
namespace {

using Uids = std::set<core::Uid>;

constexpr core::Uid erin = 62000;
constexpr core::Uid frank = 62001;
constexpr core::Uid serviceUid = 62100; ///< services of systemd have it and the next

struct NoLog : core::Log {
    void write(core::Severity /*severity*/, const std::string& /*line*/) override {}
};

// PID 1 and logind, as stand-ins on the private bus.
class Systemd {
  public:
    Systemd() {
        static const sd_bus_vtable logind[] = {
            SD_BUS_VTABLE_START(0),
            SD_BUS_METHOD(
                "ListUsers", "", "a(uso)",
                [](sd_bus_message* message, void* data, sd_bus_error*) {
                    return static_cast<Systemd*>(data)->listUsers(message);
                },
                SD_BUS_VTABLE_UNPRIVILEGED),
            SD_BUS_VTABLE_END,
        };
        static const sd_bus_vtable pid1[] = {
            SD_BUS_VTABLE_START(0),
            SD_BUS_METHOD(
                "LookupDynamicUserByUID", "u", "s",
                [](sd_bus_message* message, void*, sd_bus_error*) { return lookUp(message); },
                SD_BUS_VTABLE_UNPRIVILEGED),
            SD_BUS_VTABLE_END,
        };
        serve("login1", logind);
        serve("systemd1", pid1);
    }
    Systemd(const Systemd&) = delete;
    Systemd& operator=(const Systemd&) = delete;
    ~Systemd() { // the next test's may ask for them before the bus has seen this one leave
        for (const char* name : {"login1", "systemd1"})
            sd_bus_release_name(client_.bus(), nameOf(name).c_str());
    }

    void process() {
        while (sd_bus_process(client_.bus(), nullptr) > 0) {
        }
    }
    void announceLogin(core::Uid uid) {
        requireGood(sd_bus_emit_signal(client_.bus(), "/org/freedesktop/login1",
                                       "org.freedesktop.login1.Manager", "UserNew", "uo", uid,
                                       "/org/freedesktop/login1/user"));
    }

    Uids loggedIn;

  private:
    static void requireGood(int result) {
        if (result < 0)
            throw std::runtime_error("the stand-in for systemd failed");
    }
    static std::string nameOf(const std::string& manager) { return "org.freedesktop." + manager; }
    void serve(const std::string& name, const sd_bus_vtable* vtable) {
        const std::string full = nameOf(name);
        requireGood(sd_bus_add_object_vtable(client_.bus(), nullptr,
                                             ("/org/freedesktop/" + name).c_str(),
                                             (full + ".Manager").c_str(), vtable, this));
        requireGood(sd_bus_request_name(client_.bus(), full.c_str(), 0));
    }
    int listUsers(sd_bus_message* call) {
        sd_bus_message* raw = nullptr;
        requireGood(sd_bus_message_new_method_return(call, &raw));
        const Message reply(raw, Unref{});
        requireGood(sd_bus_message_open_container(raw, 'a', "(uso)"));
        for (const core::Uid uid : loggedIn)
            requireGood(
                sd_bus_message_append(raw, "(uso)", uid, "name", "/org/freedesktop/login1/user"));
        requireGood(sd_bus_message_close_container(raw));
        return sd_bus_send(client_.bus(), raw, nullptr);
    }
    static int lookUp(sd_bus_message* call) {
        std::uint32_t uid = 0;
        requireGood(sd_bus_message_read(call, "u", &uid));
        if (uid >= serviceUid)
            return sd_bus_reply_method_return(call, "s", "service");
        return sd_bus_reply_method_errorf(call, "org.freedesktop.systemd1.NoSuchDynamicUser",
                                          "no service has it");
    }

    Client client_{root};
};

class DynamicUsers : public ::testing::Test {
  protected:
    void turn() {
        systemd.process();
        while (g_main_context_iteration(nullptr, FALSE) != FALSE) {
        }
    }
    void waitFor(const Uids& wanted) {
        waitUntil(
            [&] {
                turn();
                return people == wanted;
            },
            "the people");
    }

    Systemd systemd;
    service::SystemClock clock;
    NoLog log;
    Uids people{serviceUid}; ///< by an earlier service, before another service got the uid
    service::DynamicUsers users{clock, log, people, [this](const Uids& now) { people = now; }};
};

TEST_F(DynamicUsers, WhoLogInArePeopleUnlessPid1KnowsAServiceOfThem) {
    systemd.loggedIn = {erin, serviceUid};
    users.check();
    waitFor({erin});
    systemd.announceLogin(frank);
    waitFor({erin, frank});
}

// At boot, the service may start before the bus.
TEST_F(DynamicUsers, AreAskedAboutOnceTheBusAnswers) {
    systemd.loggedIn = {erin, serviceUid};
    const std::string address = ::getenv("DBUS_SYSTEM_BUS_ADDRESS");
    ::setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere", 1);
    // The connection of an earlier test may still be open.
    const auto canConnect = [] {
        const std::unique_ptr<GDBusConnection, decltype(&g_object_unref)> shared(
            g_bus_get_sync(G_BUS_TYPE_SYSTEM, nullptr, nullptr), &g_object_unref);
        return shared != nullptr;
    };
    waitUntil(
        [&] {
            turn();
            return !canConnect();
        },
        "the end of the earlier connection");
    users.check();
    ::setenv("DBUS_SYSTEM_BUS_ADDRESS", address.c_str(), 1);
    waitUntil(
        [&] {
            users.check();
            turn();
            return people == Uids{erin};
        },
        "the people");
}

TEST_F(DynamicUsers, WhoUseAGpuArePeopleUnlessPid1KnowsAServiceOfThem) {
    users.check();
    waitFor({});
    core::Observation observation;
    for (const core::Uid uid : {serviceUid + 1, erin}) { // which are asked about in this order
        core::ObservedProcess process;
        process.facts.uids = {uid, uid, uid, uid};
        observation.processes.push_back(process);
    }
    users.observed(observation);
    waitFor({erin});
}

} // namespace
} // namespace genv::tests
