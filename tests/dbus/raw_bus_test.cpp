// SPDX-License-Identifier: LGPL-2.1-or-later
// The layer below sdbus-c++: handlers that sd-bus calls, messages that are inspected before
// sdbus-c++ reads them, and messages that are written without it.
#include "core/base/descriptor.hpp"
#include "dbus/contract/names.hpp"
#include "dbus/contract/raw_bus.hpp"
#include "dbus/contract/sdbus_compat.hpp"
#include "tests/bus/support/client.hpp"
#include "tests/bus/support/service.hpp"
#include "tests/fuzz/plain_message.hpp"
#include "tests/service/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace genv::tests {
namespace {

namespace raw = dbus::raw;
namespace compat = dbus::compat;

constexpr const char* refusalName = "dev.genv.Error.Busy";

class BeneathSdbus : public ::testing::Test {
  protected:
    BeneathSdbus() { compat::requestName(*connection, dbus::contract::busName); }

    void process() {
        while (compat::processPending(*connection)) {
        }
    }
    void processUntil(const std::function<bool()>& done) {
        for (process(); !done(); process()) {
            const auto data = connection->getEventLoopPollData();
            pollfd descriptor{data.fd, data.events, 0};
            ::poll(&descriptor, 1, data.getPollTimeout());
        }
    }
    Answer call(const std::string& path = managerPath,
                const char* interface = "org.freedesktop.DBus.Peer", const char* member = "Ping") {
        const auto pending = client.start(path, interface, member);
        waitUntil(
            [&] {
                process();
                client.ping();
                return pending->answered;
            },
            "the answer");
        return pending->answer;
    }
    struct CredentialsReply {
        std::optional<raw::Credentials> credentials;
        bool isLate = false;
    };
    CredentialsReply askFor(const std::string& name, std::chrono::microseconds timeout) {
        bool isReceived = false;
        CredentialsReply received;
        const raw::Slot question =
            bus.askFor(name, timeout, [&](const auto& credentials, bool isLate) {
                received = {credentials, isLate};
                isReceived = true;
            });
        processUntil([&] { return isReceived; });
        return received;
    }

    std::unique_ptr<sdbus::IConnection> connection = sdbus::createSystemBusConnection();
    raw::Bus bus{*connection};
    Client client{alice};
};

TEST_F(BeneathSdbus, FiltersGetCallsBeforeAnythingElseAsLongAsTheirSlotLives) {
    int met = 0;
    raw::Slot slot = bus.addFilter([&](const raw::Message& message) {
        if (!message.isCall())
            return false;
        ++met;
        EXPECT_TRUE(message.calls("org.freedesktop.DBus.Peer", "Ping", ""));
        EXPECT_FALSE(message.calls("org.freedesktop.DBus.Peer", "Ping", "s"));
        EXPECT_FALSE(message.calls("org.freedesktop.DBus.Peer", "GetMachineId", ""));
        EXPECT_EQ(message.sender(), client.uniqueName());
        EXPECT_EQ(message.destination(), dbus::contract::busName);
        EXPECT_EQ(message.path(), managerPath);
        EXPECT_TRUE(message.expectsReply());
        message.refuse(refusalName, "100 % busy");
        return true;
    });
    const Answer answer = call();
    EXPECT_EQ(answer.error, refusalName);
    EXPECT_EQ(answer.text, "100 % busy") << "a text is no format";
    slot.reset();
    EXPECT_TRUE(call().ok());
    EXPECT_EQ(met, 1);
}

TEST_F(BeneathSdbus, CallersAreToldWhenAHandlerThrows) {
    const raw::Slot slot = bus.addFilter([](const raw::Message& message) -> bool {
        if (message.isCall())
            throw std::runtime_error("nobody may see this");
        return false;
    });
    const Answer answer = call();
    EXPECT_EQ(answer.error, "org.freedesktop.DBus.Error.NoMemory");
    EXPECT_EQ(answer.text.find("nobody may see this"), std::string::npos);
}

TEST_F(BeneathSdbus, HandlersGoWithTheirSlotsAndNotBeforeTheyReturn) {
    const auto held = std::make_shared<std::string>("held");
    raw::Slot slot = bus.addFilter([held](const raw::Message& /*message*/) { return false; });
    EXPECT_EQ(held.use_count(), 2);
    slot = bus.addFilter([&slot, held](const raw::Message& /*message*/) {
        slot.reset();
        EXPECT_EQ(*held, "held") << "it still runs";
        return false;
    });
    EXPECT_EQ(held.use_count(), 2);
    EXPECT_TRUE(call().ok());
    EXPECT_EQ(slot, nullptr);
    EXPECT_EQ(held.use_count(), 1);
}

TEST_F(BeneathSdbus, MessagesThatAreKeptMayComeInAgain) {
    std::optional<raw::Message> kept;
    bool cameAgain = false;
    const raw::Slot slot = bus.addFilter([&](raw::Message message) {
        if (!message.isCall())
            return false;
        if (kept) {
            cameAgain = kept == message;
            return false;
        }
        kept = std::move(message);
        return true;
    });
    const auto pending = client.start(managerPath, "org.freedesktop.DBus.Peer", "Ping");
    client.ping();
    waitUntil(
        [&] {
            process();
            return kept.has_value();
        },
        "the call");
    EXPECT_EQ(bus.unsent(), 0U);
    EXPECT_TRUE(bus.enqueue(*kept));
    EXPECT_FALSE(cameAgain);
    process();
    EXPECT_TRUE(cameAgain);
    EXPECT_TRUE(client.finish(*pending).ok()) << "and are answered then";
}

TEST_F(BeneathSdbus, ARuleHoldsThoughItsAnswerLiesUnreadForLongerThanACallMayTake) {
    constexpr std::chrono::microseconds timeout = std::chrono::milliseconds{1};
    connection->setMethodCallTimeout(timeout);
    int heard = 0;
    const auto match = compat::addMatch(*connection, "type='signal',member='Told'",
                                        [&](sdbus::Message& /*signal*/) { ++heard; });
    EXPECT_EQ(connection->getMethodCallTimeout(), static_cast<std::uint64_t>(timeout.count()));
    const auto late = std::chrono::steady_clock::now() + 2 * timeout;
    while (std::chrono::steady_clock::now() < late) {
    }
    const auto object = sdbus::createObject(*connection, sdbus::ObjectPath{managerPath});
    object->emitSignal(
        object->createSignal(compat::InterfaceName{"dev.genv.Test"}, compat::MemberName{"Told"}));
    processUntil([&] { return heard == 1; });
    EXPECT_EQ(heard, 1);
}

TEST_F(BeneathSdbus, ObjectsBelowAPrefixAnswerAndAreListed) {
    const raw::Slot calls = bus.addFallback("/dev/genv", [](const raw::Message& message) {
        if (message.path() != managerPath || !message.calls(managerInterface, "Say", ""))
            return false;
        message.reply([](raw::Writer& answer) { answer.write("said"); });
        return true;
    });
    const raw::Slot names = bus.addEnumerator("/dev/genv", [] {
        return std::vector<std::string>{"/dev/genv/one", "/dev/genv/two"};
    });
    EXPECT_EQ(call(managerPath, managerInterface, "Say").readString(), "said");
    EXPECT_FALSE(call(managerPath, managerInterface, "Sing").ok());
    const std::string introspected =
        call("/dev/genv", "org.freedesktop.DBus.Introspectable", "Introspect").readString();
    EXPECT_NE(introspected.find(R"(<node name="one"/>)"), std::string::npos) << introspected;
    EXPECT_NE(introspected.find(R"(<node name="two"/>)"), std::string::npos) << introspected;
}

TEST_F(BeneathSdbus, TheBusTellsWhoIsBehindAConnection) {
    const CredentialsReply received = askFor(client.uniqueName(), std::chrono::seconds{30});
    ASSERT_TRUE(received.credentials.has_value());
    EXPECT_EQ(received.credentials->uid, alice);
    EXPECT_EQ(received.credentials->pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_FALSE(received.isLate);
    const CredentialsReply nobody = askFor(":1.123456", std::chrono::seconds{30});
    EXPECT_FALSE(nobody.credentials.has_value());
    EXPECT_FALSE(nobody.isLate) << "it was answered";
    signalDaemon("bus", SIGSTOP);
    const CredentialsReply late = askFor(client.uniqueName(), std::chrono::milliseconds{20});
    signalDaemon("bus", SIGCONT);
    EXPECT_FALSE(late.credentials.has_value());
    EXPECT_TRUE(late.isLate);
}

TEST_F(BeneathSdbus, CallsAreMeasuredBeforeAnythingIsReadFromThem) {
    const auto proxy = compat::makeProxy(*connection, dbus::contract::busName, "/ab");
    const auto sizeOf = [&](const auto& argument, const raw::CallSize& max) {
        auto message = compat::makeCall(*proxy, "dev.genv.Manager", "Measured");
        message << argument;
        message.seal();
        const raw::Message call(message);
        const auto size = call.size(max);
        const auto again = call.size(max);
        EXPECT_EQ(size.has_value(), again.has_value());
        EXPECT_EQ(size.value_or(max).values, again.value_or(max).values) << "it is left as it was";
        return size.value_or(raw::CallSize{});
    };
    const raw::CallSize max{100, 1000};
    const std::size_t path = 4;
    EXPECT_EQ(sizeOf(std::string("abc"), max).values, 1U);
    EXPECT_EQ(sizeOf(std::string("abc"), max).bytes, path + 4);
    const std::vector<std::uint32_t> numbers(90);
    EXPECT_EQ(sizeOf(numbers, max).values, 91U) << "an array is a value, too";
    EXPECT_EQ(sizeOf(numbers, max).bytes, path + 4 * numbers.size());
    EXPECT_EQ(sizeOf(std::vector<std::uint32_t>(100), max).values, 0U) << "too many";
    EXPECT_EQ(sizeOf(std::string(1000, 'x'), max).values, 0U) << "too large";
    const std::map<std::string, sdbus::Variant> options{{"a", sdbus::Variant{true}}};
    EXPECT_EQ(sizeOf(options, max).values, 5U) << "array, entry, key, variant and value";
}

TEST(RawWriter, WritesWhatSdbusReads) {
    const std::vector<std::string> names{"a", "b"};
    const std::vector<std::uint32_t> none;
    const std::vector<sdbus::Struct<std::uint32_t, std::string>> rows{{7, "seven"}};
    sdbus::PlainMessage message = sdbus::createPlainMessage();
    raw::Writer writer(message);
    writer.array("{sv}", [&] {
        writer.property("flag", true);
        writer.property("signed", std::int32_t{-1});
        writer.property("unsigned", std::uint32_t{1});
        writer.property("long", ~std::uint64_t{0});
        writer.property("text", std::string("text"));
        writer.property("names", names);
        writer.property("none", none);
        writer.property("rows", rows);
    });
    writer.writePath("/dev/genv");
    message.seal();
    std::map<std::string, sdbus::Variant> read;
    sdbus::ObjectPath path;
    message >> read >> path;
    EXPECT_EQ(read.size(), 8U);
    EXPECT_TRUE(read["flag"].get<bool>());
    EXPECT_EQ(read["signed"].get<std::int32_t>(), -1);
    EXPECT_EQ(read["unsigned"].get<std::uint32_t>(), 1U);
    EXPECT_EQ(read["long"].get<std::uint64_t>(), ~std::uint64_t{0});
    EXPECT_EQ(read["text"].get<std::string>(), "text");
    EXPECT_EQ(read["names"].get<std::vector<std::string>>(), names);
    EXPECT_EQ(read["none"].get<std::vector<std::uint32_t>>(), none);
    EXPECT_EQ((read["rows"].get<std::vector<sdbus::Struct<std::uint32_t, std::string>>>()), rows);
    EXPECT_EQ(path, "/dev/genv");
}

TEST(RawReader, TellsTheTypeOfAVariantAndOfNothingElse) {
    sdbus::PlainMessage message = sdbus::createPlainMessage();
    message << sdbus::Variant{std::vector<std::string>{"a"}} << std::string("text");
    message.seal();
    raw::Reader reader(message);
    EXPECT_EQ(reader.variantSignature(), "as");
    reader.skipVariant();
    EXPECT_ANY_THROW(static_cast<void>(reader.variantSignature()));
}

TEST(RawSystemBus, IsAwaitedUntilItAnswersOrNoTimeIsLeft) {
    EXPECT_NO_THROW(raw::awaitSystemBus(std::chrono::seconds{30}));
    const TemporaryFolder folder;
    const std::string path = folder.path() / "bus";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(&address.sun_path[0], sizeof address.sun_path - 1);
    const core::Descriptor silent(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(silent.get(), 1), 0);
    const std::string real = ::getenv("DBUS_SYSTEM_BUS_ADDRESS");
    ::setenv("DBUS_SYSTEM_BUS_ADDRESS", ("unix:path=" + path).c_str(), 1);
    std::error_code error;
    try {
        raw::awaitSystemBus(std::chrono::milliseconds{1});
    } catch (const std::system_error& failure) {
        error = failure.code();
    }
    ::setenv("DBUS_SYSTEM_BUS_ADDRESS", real.c_str(), 1);
    EXPECT_EQ(error, std::errc::timed_out);
}

TEST(RawPaths, EscapeAnyText) {
    for (const std::string& text :
         {std::string("20"), std::string("a-b.c"), std::string("ä/\n"), std::string()}) {
        const std::string path = raw::encodePath("/dev/genv", text);
        EXPECT_EQ(path.find_first_not_of("/abcdefghijklmnopqrstuvwxyz0123456789_"),
                  std::string::npos)
            << path;
        EXPECT_EQ(raw::decodePath("/dev/genv", path), text);
    }
    EXPECT_EQ(raw::decodePath("/dev/genv", "/dev/other/20"), std::nullopt);
    EXPECT_EQ(raw::decodePath("/dev/genv", "/dev/genvd/20"), std::nullopt);
}

} // namespace
} // namespace genv::tests
