// SPDX-License-Identifier: LGPL-2.1-or-later
// sdbus-c++ 1 and 2 under one set of names. The service's bus side and the client's library use
// what both versions offer in the same way; this pair of files alone has the rest, and asks which
// version it is.
//
// Version 2 has types for the names of D-Bus, where 1 takes any text, and gives those of a message
// as pointers, which must not be compared. It renamed what an event loop calls, and another type
// tells why a call failed.
#pragma once

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::dbus::compat {

#if __has_include(<sdbus-c++/VTableItems.h>) // version 2
using InterfaceName = sdbus::InterfaceName;
using MemberName = sdbus::MemberName; ///< of a method, a signal or a property
/// What an asynchronous call failed with, as its handler takes it.
using Failure = std::optional<sdbus::Error>;
inline const sdbus::Error* errorOf(const Failure& failure) {
    return failure ? &*failure : nullptr;
}

/// The call that a handler of this object is answering; only before the handler returns.
inline sdbus::Message currentMessage(const sdbus::IObject& object) {
    return object.getCurrentlyProcessedMessage();
}

/// The signature of values of these types, one after the other.
template <typename... Values>
std::string signatureOf() {
    std::string signature;
    (signature.append(sdbus::signature_of_v<Values>.data(), sdbus::signature_of_v<Values>.size()),
     ...);
    return signature;
}
#else
using InterfaceName = std::string;
using MemberName = std::string;
using Failure = const sdbus::Error*;
inline const sdbus::Error* errorOf(Failure failure) {
    return failure;
}

inline const sdbus::Message& currentMessage(const sdbus::IObject& object) {
    return *object.getCurrentlyProcessedMessage();
}

template <typename... Values>
std::string signatureOf() {
    return (std::string() + ... + sdbus::signature_of<Values>::str());
}
#endif

/// An error of D-Bus with this name and text.
sdbus::Error makeError(const char* name, const std::string& text);
/// A proxy of an object. The connection outlives it.
std::unique_ptr<sdbus::IProxy> makeProxy(sdbus::IConnection& connection, const std::string& service,
                                         const std::string& path);
/// A call of a method, yet to be sent.
sdbus::MethodCall makeCall(sdbus::IProxy& proxy, const char* interface, const char* member);
/// Begins to listen for the signals that a proxy was given handlers for.
void listen(sdbus::IProxy& proxy);
using MessageHandler = std::function<void(sdbus::Message&)>;
/// The handler gets the messages that a rule matches for as long as the result lives.
[[nodiscard]] sdbus::Slot addMatch(sdbus::IConnection& connection, const std::string& rule,
                                   MessageHandler handler);
void requestName(sdbus::IConnection& connection, const char* name);
/// Sends and receives what can be, and handles one message. False when there was nothing to do.
bool processPending(sdbus::IConnection& connection);
/// When processPending() has to be called at the latest, on CLOCK_MONOTONIC; 0 for at once, and
/// nothing for never.
[[nodiscard]] std::optional<std::chrono::microseconds>
dueOf(const sdbus::IConnection::PollData& data);
/// Who sent a message, by the unique name that the bus gave the sender; empty if the message has
/// none.
std::string senderOf(const sdbus::Message& message);
/// The method or signal of a message; empty if the message has none.
std::string memberOf(const sdbus::Message& message);
std::vector<MemberName> memberNames(const std::vector<std::string>& names);

} // namespace genv::dbus::compat
