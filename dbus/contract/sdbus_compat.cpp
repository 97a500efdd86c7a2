// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/contract/sdbus_compat.hpp"

#include <cstdint>
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
    return connection.addMatch(
        rule, [handler = std::move(handler)](sdbus::Message message) { handler(message); },
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

sdbus::Slot addMatch(sdbus::IConnection& connection, const std::string& rule,
                     MessageHandler handler) {
    return connection.addMatch(rule, std::move(handler));
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
