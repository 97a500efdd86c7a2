// SPDX-License-Identifier: LGPL-2.1-or-later
// Signals that any user can send, names that any user would like to own, and bus rules of other
// packages.
#include "tests/bus/support/fixture.hpp"

#include <signal.h>

#include <algorithm>
#include <string_view>

namespace genv::tests {
namespace {

class Forgery : public BusTest {
  protected:
    // Returns the unique name of the service.
    std::string owner(Client& client) {
        Message question = client.newCall("org.freedesktop.DBus", "/org/freedesktop/DBus",
                                          "org.freedesktop.DBus", "GetNameOwner");
        sd_bus_message_append(question.get(), "s", "dev.genv.Manager");
        return client.send(question).readString();
    }

    // Sends a signal to one connection only: no match rule of the receiver filters it.
    template <typename... Arguments>
    static void forge(Client& client, const std::string& destination, const char* path,
                      const char* interface, const char* member, const char* signature,
                      Arguments... arguments) {
        sd_bus_message* raw = nullptr;
        ASSERT_GE(sd_bus_message_new_signal(client.bus(), &raw, path, interface, member), 0);
        const Message signal(raw, Unref{});
        ASSERT_GE(sd_bus_message_append(raw, signature, arguments...), 0);
        ASSERT_GE(sd_bus_send_to(client.bus(), raw, destination.c_str(), nullptr), 0);
        client.ping();
    }
};

// The test owns the name, so it receives the messages that the bus passes to the service.
TEST_F(Forgery, OfSignalsToTheServiceAloneIsNotDelivered) {
    const std::string broadcast = "type='signal',interface='org.example.Broadcast'";
    service.end(SIGTERM);
    ASSERT_GE(sd_bus_request_name(asRoot->bus(), "dev.genv.Manager", 0), 0);
    std::vector<std::string> received;
    const auto note = [](sd_bus_message* message, void* list, sd_bus_error*) {
        const char* interface = sd_bus_message_get_interface(message);
        const char* member = sd_bus_message_get_member(message);
        if (interface != nullptr &&
            !std::string_view(interface).starts_with("org.freedesktop.DBus.Local") &&
            std::string_view(member) != "NameAcquired")
            static_cast<std::vector<std::string>*>(list)->emplace_back(member);
        return 0;
    };
    sd_bus_slot* filter = nullptr;
    ASSERT_GE(sd_bus_add_filter(asRoot->bus(), &filter, note, &received), 0);
    const Slot filterSlot(filter);
    const Slot match = asRoot->listen(broadcast, [](sd_bus_message*) {});
    received.clear();
    for (const std::string& target : {std::string("dev.genv.Manager"), asRoot->uniqueName()})
        forge(*asAlice, target, "/x", "org.example.Storm", "Storm", "");
    sd_bus_emit_signal(asAlice->bus(), "/x", "org.example.Broadcast", "Everybody", "");
    const auto ping = asAlice->start(managerPath, "org.freedesktop.DBus.Peer", "Ping");
    asRoot->processUntil(
        [&] { return std::find(received.begin(), received.end(), "Ping") != received.end(); },
        "the call that was sent last");
    EXPECT_EQ(received, (std::vector<std::string>{"Everybody", "Ping"}));
}

TEST_F(Forgery, OfALeavingClientCutsNobodyOff) {
    const UserProcess shell(bob);
    const std::string id = activate(*asBob, shell);
    const Answer carolsRepetition = asCarol->manager("Enforce", "a{sv}", 2, "dry-run", "b", 1,
                                                     "interval", "t", std::uint64_t{1});
    ASSERT_TRUE(carolsRepetition.ok());
    signalDaemon("polkitd", SIGSTOP);
    const auto attach = asBob->start(environmentPath(id), environmentInterface, "Attach", "a{sv}",
                                     1, "count", "u", 1U);
    asBob->ping();
    const std::string target = owner(*asAlice);
    for (const std::string& name : {asBob->uniqueName(), asCarol->uniqueName()})
        forge(*asAlice, target, "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged",
              "sss", name.c_str(), name.c_str(), "");
    EXPECT_TRUE(asRoot->manager("ListDevices").ok()) << "the service has read it";
    signalDaemon("polkitd", SIGCONT);
    EXPECT_EQ(asBob->finish(*attach).readUnsignedList(), std::vector<std::uint32_t>{0});
    int cycles = 0;
    const Slot received =
        asCarol->listen("type='signal',member='Enforced'", [&](sd_bus_message*) { ++cycles; });
    asCarol->processUntil([&] { return cycles > 0; }, "the next repetition");
}

TEST_F(Forgery, OfWhatPolkitAndSystemdTellChangesNothing) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    const std::string target = owner(*asBob);
    forge(*asBob, target, "/org/freedesktop/PolicyKit1/Authority",
          "org.freedesktop.PolicyKit1.Authority", "Changed", "");
    forge(*asBob, target, "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged",
          "sss", "org.freedesktop.PolicyKit1", ":1.1", asBob->uniqueName().c_str());
    forge(*asBob, target, "/dev/genv/Manager", "dev.genv.Manager", "EnvironmentRemoved", "so",
          id.c_str(), environmentPath(id).c_str());
    EXPECT_EQ(asBob->environment(id, "Deactivate").error, error::interactive);
    EXPECT_TRUE(asAlice->environment(id, "Attach", "a{sv}", 1, "count", "u", 1U).ok());
    EXPECT_EQ(devicesOf(id), "0");
}

TEST_F(Forgery, OfAnAnswerOfPolkitIsNotDelivered) {
    // A reply needs a call: the bus drops replies to which the sender got no call.
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell);
    signalDaemon("polkitd", SIGSTOP);
    const auto theft = asBob->start(environmentPath(id), environmentInterface, "Deactivate");
    asBob->ping();
    // Sends one to every connection, with every serial that the call may have had.
    for (int connection = 0; connection < 16; ++connection) {
        for (std::uint32_t serial = 1; serial < 64; ++serial) {
            sd_bus_message* raw = nullptr;
            ASSERT_GE(sd_bus_message_new(asBob->bus(), &raw, SD_BUS_MESSAGE_METHOD_CALL), 0);
            sd_bus_message_unref(raw);
            Message call = asBob->newCall(":1." + std::to_string(connection), "/x", "x.y", "Z");
            sd_bus_message_seal(call.get(), serial, 0);
            sd_bus_message* answer = nullptr;
            if (sd_bus_message_new_method_return(call.get(), &answer) < 0)
                continue;
            const Message forged(answer, Unref{});
            sd_bus_message_append(answer, "(bba{ss})", 1, 0, 0);
            sd_bus_send_to(asBob->bus(), answer, (":1." + std::to_string(connection)).c_str(),
                           nullptr);
        }
    }
    asBob->ping();
    EXPECT_TRUE(asRoot->manager("ListDevices").ok());
    EXPECT_FALSE(theft->answered);
    signalDaemon("polkitd", SIGCONT);
    EXPECT_EQ(asBob->finish(*theft).error, error::interactive);
    EXPECT_EQ(environmentCount(), "1");
}

// -- names

Answer requestName(Client& client, const char* name, std::uint32_t flags) {
    Message request = client.newCall("org.freedesktop.DBus", "/org/freedesktop/DBus",
                                     "org.freedesktop.DBus", "RequestName");
    sd_bus_message_append(request.get(), "su", name, flags);
    return client.send(request);
}

constexpr std::uint32_t everyFlag = 7; // may be replaced, replaces, does not queue

class Names : public Forgery {};

TEST_F(Names, AreNobodyElsesToOwnOrToWaitFor) {
    const std::string before = owner(*asBob);
    for (std::uint32_t flags = 0; flags <= everyFlag; ++flags)
        EXPECT_EQ(requestName(*asAlice, "dev.genv.Manager", flags).error, error::accessDenied)
            << flags;
    EXPECT_EQ(requestName(*asAlice, "dev.genv.Manager.Other", 0).error, error::accessDenied);
    service.end(SIGTERM);
    EXPECT_EQ(requestName(*asAlice, "dev.genv.Manager", 0).error, error::accessDenied)
        << "nor while nobody has it";
    service.start();
    EXPECT_NE(owner(*asBob), before);
}

// -- with a policy file that permits everything (foreign.conf)

class ForeignRules : public Forgery {};

TEST_F(ForeignRules, LeaveTheNameToWhoHasIt) {
    const std::string before = owner(*asBob);
    for (std::uint32_t flags = 0; flags <= everyFlag; ++flags)
        EXPECT_NE(requestName(*asAlice, "dev.genv.Manager", flags).readUnsigned(), 1U)
            << "she owns it";
    EXPECT_EQ(owner(*asBob), before);
}

TEST_F(ForeignRules, OpenNothingOfTheServiceThatChangesAnything) {
    const UserProcess shell(alice);
    const std::string id = activate(*asAlice, shell, 1);
    const auto everywhere = {std::string(managerPath), environmentPath(id), devicePath(0)};
    for (const std::string& path : everywhere) {
        for (const char* interface : {managerInterface, environmentInterface, deviceInterface}) {
            for (const char* property : {"Version", "Policy", "Devices", "Name", "Uid", "Health"})
                EXPECT_NE(asBob
                              ->call(path, "org.freedesktop.DBus.Properties", "Set", "ssv",
                                     interface, property, "s", "x")
                              .error,
                          "");
        }
        for (const char* member : {"Set", "Quit", "Exit", "SetLogLevel"})
            EXPECT_NE(asBob->call(path, "org.freedesktop.DBus.Peer", member).error, "");
    }
    for (const char* member : {"Reload", "Enforce", "Execute"})
        EXPECT_NE(asBob->manager(member).error, "") << member;
    EXPECT_EQ(asBob->manager("Reload").error, error::interactive);
    EXPECT_EQ(asBob->environment(id, "Deactivate").error, error::interactive);
    EXPECT_EQ(asBob->call(devicePath(0), deviceInterface, "Detach", "s", "").error,
              error::interactive);
    EXPECT_EQ(devicesOf(id), "0");
    EXPECT_EQ(asRoot->property(environmentPath(id), environmentInterface, "Name"), "");
}

// Forged signals of the service's interface reach clients that do not name the sender in their
// match rules. They do not reach clients that name it, as every part of genv does.
TEST_F(ForeignRules, MakeNobodyWhoNamesTheSenderBelieveASignal) {
    int received = 0;
    const Slot slot = asBob->listen("type='signal',sender='dev.genv.Manager',member='Notice'",
                                    [&](sd_bus_message*) { ++received; });
    sd_bus_message* raw = nullptr;
    ASSERT_GE(
        sd_bus_message_new_signal(asAlice->bus(), &raw, managerPath, managerInterface, "Notice"),
        0);
    const Message signal(raw, Unref{});
    sd_bus_message_append(raw, "ussa{sv}", bob, "warning", "x", 0);
    sd_bus_send(asAlice->bus(), raw, nullptr);
    asAlice->ping();
    asBob->ping();
    EXPECT_EQ(received, 0);
}

} // namespace
} // namespace genv::tests
