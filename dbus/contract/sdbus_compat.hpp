// SPDX-License-Identifier: LGPL-2.1-or-later
// One set of names for sdbus-c++ 1 and 2. The bus side of the service and the client library use
// the API that both versions share. Only this pair of files handles the differences and checks the
// version.
//
// Version 2 has types for D-Bus names, where version 1 takes any text. It returns the names of a
// message as pointers, which must not be compared. It renamed the functions for event loops, and
// has another type for the error of a call.
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
using MemberName = sdbus::MemberName; ///< name of a method, a signal or a property
/// The error of an asynchronous call, as its handler receives it.
using Failure = std::optional<sdbus::Error>;
inline const sdbus::Error* errorOf(const Failure& failure) {
    return failure ? &*failure : nullptr;
}

/// Returns the call that a handler of this object is processing. Valid only until the handler
/// returns.
inline sdbus::Message currentMessage(const sdbus::IObject& object) {
    return object.getCurrentlyProcessedMessage();
}

/// Returns the concatenated signature of values of these types.
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

/// Returns a D-Bus error with this name and text.
sdbus::Error makeError(const char* name, const std::string& text);
/// Creates a proxy of an object. The connection must outlive it.
std::unique_ptr<sdbus::IProxy> makeProxy(sdbus::IConnection& connection, const std::string& service,
                                         const std::string& path);
/// Creates a method call without sending it.
sdbus::MethodCall makeCall(sdbus::IProxy& proxy, const char* interface, const char* member);
/// Receives the reply to a call, or its error, which is null if it succeeded.
using ReplyHandler = std::function<void(sdbus::Message& reply, const sdbus::Error* error)>;
/// Sends a call, which may be for another object, without waiting. The handler runs once, unless
/// the proxy ends first. The maximum of the timeout means no limit.
void send(sdbus::IProxy& proxy, const sdbus::MethodCall& call, std::chrono::microseconds timeout,
          ReplyHandler handler);
/// Starts to listen for the signals for which a proxy has handlers.
void listen(sdbus::IProxy& proxy);
using MessageHandler = std::function<void(sdbus::Message&)>;
/// Registers a handler for the messages that match a rule, for the lifetime of the result, without
/// waiting for the bus: calls that follow reach the bus after the rule. The connection ends if the
/// bus takes no more rules.
[[nodiscard]] sdbus::Slot addMatch(sdbus::IConnection& connection, const std::string& rule,
                                   MessageHandler handler);
void requestName(sdbus::IConnection& connection, const char* name);
/// Sends and receives without blocking, and handles one message. Returns false if there was nothing
/// to do.
bool processPending(sdbus::IConnection& connection);
/// Returns the latest time for the next processPending(), on CLOCK_MONOTONIC; 0 for immediately,
/// and nothing for never.
[[nodiscard]] std::optional<std::chrono::microseconds>
dueOf(const sdbus::IConnection::PollData& data);
/// Returns the unique name of a message's sender; empty if the message has none.
std::string senderOf(const sdbus::Message& message);
/// Returns the method or signal of a message; empty if the message has none.
std::string memberOf(const sdbus::Message& message);
std::vector<MemberName> memberNames(const std::vector<std::string>& names);

} // namespace genv::dbus::compat
