// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/contract/sdbus_compat.hpp"

#include "dbus/contract/names.hpp"
#include "dbus/contract/sd_message.hpp"

#include <cstdint>
#include <exception>
#include <limits>
#include <utility>

namespace genv::dbus::compat {

namespace {

// Version 1 returns the texts of a message as strings, version 2 as pointers, which may be null.
[[maybe_unused]] std::string textOf(std::string text) {
    return text;
}
[[maybe_unused]] std::string textOf(const char* text) {
    return text != nullptr ? std::string(text) : std::string();
}

// The bus's answer to a rule may lie unread for long while the connection waits for another answer,
// and must not count as late then.
class EndlessTimeout {
  public:
    explicit EndlessTimeout(sdbus::IConnection& connection)
        : connection_(connection), before_(connection.getMethodCallTimeout()) {
        connection_.setMethodCallTimeout(std::numeric_limits<std::uint64_t>::max());
    }
    EndlessTimeout(const EndlessTimeout&) = delete;
    EndlessTimeout& operator=(const EndlessTimeout&) = delete;
    ~EndlessTimeout() { connection_.setMethodCallTimeout(before_); }

  private:
    sdbus::IConnection& connection_;
    const std::uint64_t before_;
};

std::uint64_t toSdBus(std::chrono::microseconds timeout) {
    return timeout == std::chrono::microseconds::max()
               ? std::numeric_limits<std::uint64_t>::max()
               : static_cast<std::uint64_t>(timeout.count());
}

} // namespace

#if __has_include(<sdbus-c++/VTableItems.h>) // version 2
sdbus::Error makeError(const char* name, const std::string& text) {
    return {sdbus::Error::Name{name}, text};
}

std::unique_ptr<sdbus::IProxy> makeProxy(sdbus::IConnection& connection, const std::string& service,
                                         const std::string& path) {
    return sdbus::createProxy(connection, sdbus::ServiceName{service}, sdbus::ObjectPath{path});
}

sdbus::MethodCall makeCall(sdbus::IProxy& proxy, const char* interface, const char* member) {
    return proxy.createMethodCall(InterfaceName{interface}, MemberName{member});
}

void send(sdbus::IProxy& proxy, const sdbus::MethodCall& call, std::chrono::microseconds timeout,
          ReplyHandler handler) {
    proxy.callMethodAsync(
        call,
        [handler = std::move(handler)](sdbus::MethodReply reply,
                                       const std::optional<sdbus::Error>& error) {
            handler(reply, errorOf(error));
        },
        toSdBus(timeout));
}

void listen(sdbus::IProxy& /*proxy*/) {} // version 2 listens as soon as it gets the handlers

sdbus::Slot addMatch(sdbus::IConnection& connection, const std::string& rule,
                     MessageHandler handler) {
    const EndlessTimeout timeout(connection);
    return connection.addMatchAsync(
        rule, [handler = std::move(handler)](sdbus::Message message) { handler(message); }, {},
        sdbus::return_slot);
}

void requestName(sdbus::IConnection& connection, const char* name) {
    connection.requestName(sdbus::ServiceName{name});
}

bool processPending(sdbus::IConnection& connection) {
    return connection.processPendingEvent();
}

std::optional<std::chrono::microseconds> dueOf(const sdbus::IConnection::PollData& data) {
    return data.timeout == std::chrono::microseconds::max() ? std::nullopt
                                                            : std::optional(data.timeout);
}
#else
sdbus::Error makeError(const char* name, const std::string& text) {
    return {name, text};
}

std::unique_ptr<sdbus::IProxy> makeProxy(sdbus::IConnection& connection, const std::string& service,
                                         const std::string& path) {
    return sdbus::createProxy(connection, service, path);
}

sdbus::MethodCall makeCall(sdbus::IProxy& proxy, const char* interface, const char* member) {
    return proxy.createMethodCall(interface, member);
}

void send(sdbus::IProxy& proxy, const sdbus::MethodCall& call, std::chrono::microseconds timeout,
          ReplyHandler handler) {
    proxy.callMethod(
        call,
        [handler = std::move(handler)](sdbus::MethodReply& reply, const sdbus::Error* error) {
            handler(reply, error);
        },
        toSdBus(timeout));
}

void listen(sdbus::IProxy& proxy) {
    proxy.finishRegistration();
}

namespace {

using SdBus = sdbus::internal::ISdBus*; // what a message knows of its bus

// A message that sdbus-c++ did not receive itself. Its base class lets only derived classes be made
// from a message of sd-bus.
struct Received : sdbus::Message {
    static SdBus busOf(const sdbus::Message& message) { return message.*(&Received::sdbus_); }
    Received(sd_bus_message* message, SdBus bus) : Message(message, bus) {}
};

struct Match {
    MessageHandler handler;
    SdBus bus;
};

int onMatch(sd_bus_message* message, void* match, sd_bus_error* /*error*/) {
    try {
        const auto& [handler, bus] = *static_cast<const Match*>(match);
        Received received(message, bus);
        handler(received);
    } catch (const std::exception&) {
        return 0; // no exception may pass through sd-bus
    }
    return 0;
}

} // namespace

// Version 1 waits for the bus, so this calls sd-bus.
sdbus::Slot addMatch(sdbus::IConnection& connection, const std::string& rule,
                     MessageHandler handler) {
    const EndlessTimeout timeout(connection);
    const auto object = sdbus::createObject(connection, contract::managerPath);
    const sdbus::Signal signal = object->createSignal(contract::busName, "QueueChanged");
    auto match = std::make_unique<Match>(Match{std::move(handler), Received::busOf(signal)});
    sd_bus_slot* slot = nullptr;
    raw::require(sd_bus_add_match_async(sd_bus_message_get_bus(raw::sdMessageOf(signal)), &slot,
                                        rule.c_str(), onMatch, nullptr, match.get()),
                 "cannot listen for messages");
    sdbus::Slot owned(slot, [](void* kept) { sd_bus_slot_unref(static_cast<sd_bus_slot*>(kept)); });
    // sd-bus keeps the slot while its handler runs, which may destroy the result.
    raw::require(sd_bus_slot_set_destroy_callback(
                     slot, [](void* kept) { delete static_cast<Match*>(kept); }),
                 "a handler cannot be kept");
    static_cast<void>(match.release());
    return owned;
}

void requestName(sdbus::IConnection& connection, const char* name) {
    connection.requestName(name);
}

bool processPending(sdbus::IConnection& connection) {
    return connection.processPendingRequest();
}

std::optional<std::chrono::microseconds> dueOf(const sdbus::IConnection::PollData& data) {
    return data.timeout_usec == std::numeric_limits<std::uint64_t>::max()
               ? std::nullopt
               : std::optional(std::chrono::microseconds(data.timeout_usec));
}
#endif

std::string senderOf(const sdbus::Message& message) {
    return textOf(message.getSender());
}

std::string memberOf(const sdbus::Message& message) {
    return textOf(message.getMemberName());
}

std::vector<MemberName> memberNames(const std::vector<std::string>& names) {
    return {names.begin(), names.end()};
}

} // namespace genv::dbus::compat
