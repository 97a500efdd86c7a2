// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/service_signals.hpp"

#include "dbus/contract/names.hpp"

#include <chrono>
#include <exception>
#include <limits>
#include <utility>

namespace genv::client {

namespace contract = dbus::contract;

namespace {

// sd-bus is a C library: no exception may leave a handler. A message that cannot be read is
// ignored.
template <typename Handler>
dbus::compat::MessageHandler guarded(Handler handler) {
    return [handler = std::move(handler)](sdbus::Message& message) {
        try {
            handler(message);
        } catch (const std::exception&) {
        }
    };
}

bool meansNoOwner(const sdbus::Error& error) {
    return error.getName() == "org.freedesktop.DBus.Error.NameHasNoOwner";
}

std::string currentOwner(Connection& connection) {
    std::string owner;
    try {
        connection.proxy(contract::busDriver, contract::busDriverPath)
            ->callMethod("GetNameOwner")
            .onInterface(contract::busDriver)
            .withArguments(contract::busName)
            .storeResultsTo(owner);
    } catch (const sdbus::Error& error) {
        if (!meansNoOwner(error))
            throw;
    }
    return owner;
}

// Returns the match rule for signals of the service; `which` is the rest of the rule.
std::string ruleFor(const std::string& which) {
    return std::string("type='signal',sender='") + contract::busName + "'," + which;
}

} // namespace

ServiceSignals::ServiceSignals(Connection& connection, const std::string& which,
                               SignalHandler handler, OwnerChanged ownerChanged)
    : connection_(connection), ownerChanged_(std::move(ownerChanged)) {
    // In this order, no change of the owner and no signal of the present owner is missed.
    ownerChanges_ = connection.addMatch(
        std::string("type='signal',sender='") + contract::busDriver + "',interface='" +
            contract::busDriver + "',member='NameOwnerChanged',arg0='" + contract::busName + "'",
        guarded([this](sdbus::Message& message) { changeOwner(message); }));
    if (which.empty()) {
        askForOwner();
        return;
    }
    match(which, std::move(handler));
    // A signal that arrives before the answer would be lost.
    owner_ = currentOwner(connection);
}

void ServiceSignals::match(const std::string& which, SignalHandler handler) {
    signals_.push_back(connection_.addMatch(
        ruleFor(which), guarded([this, handler = std::move(handler)](sdbus::Message& message) {
            if (!owner_.empty() && dbus::compat::senderOf(message) == owner_)
                handler(message);
        })));
}

void ServiceSignals::add(const std::string& which, SignalHandler handler) {
    static_cast<void>(service()); // a signal that arrives before the answer would be lost
    match(which, std::move(handler));
}

// Most callers have something else to wait for until they need the answer.
void ServiceSignals::askForOwner() {
    question_ = connection_.proxy(contract::busDriver, contract::busDriverPath);
    question_->callMethodAsync("GetNameOwner")
        .onInterface(contract::busDriver)
        .withTimeout(std::numeric_limits<std::uint64_t>::max()) // it may lie unread: see service()
        .withArguments(contract::busName)
        .uponReplyInvoke([this](dbus::compat::Failure failure, const std::string& owner) {
            const sdbus::Error* error = dbus::compat::errorOf(failure);
            if (error == nullptr)
                owner_ = owner;
            else if (!meansNoOwner(*error))
                failure_ = *error;
            isAnswered_ = true;
        });
}

const std::string& ServiceSignals::service() {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + connection_.usualTimeout();
    while (question_ && !isAnswered_) {
        connection_.handleArrived();
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (!isAnswered_ && rest.count() <= 0)
            throw dbus::compat::makeError("org.freedesktop.DBus.Error.NoReply",
                                          "the bus does not answer");
        if (!isAnswered_)
            static_cast<void>(Connection::waitForArrival(connection_, connection_, -1, rest));
    }
    question_.reset();
    if (failure_)
        throw *std::exchange(failure_, std::nullopt);
    return owner_;
}

void ServiceSignals::changeOwner(sdbus::Message& message) {
    if (dbus::compat::senderOf(message) != contract::busDriver)
        return;
    std::string name;
    std::string before;
    std::string after;
    message >> name >> before >> after;
    if (name != contract::busName || after == owner_)
        return;
    const bool wasThere = !owner_.empty();
    owner_ = after;
    isAnswered_ = true; // what the bus answers is no newer
    if (!ownerChanged_)
        return;
    if (wasThere && !after.empty())
        ownerChanged_(false);
    ownerChanged_(!after.empty());
}

RareServiceSignals::RareServiceSignals(Connection& connection, const std::string& which,
                                       ServiceSignals::SignalHandler handler)
    : connection_(connection), handler_(std::move(handler)),
      signals_(connection.addMatch(ruleFor(which), guarded([this](sdbus::Message& message) {
                                       if (isService(dbus::compat::senderOf(message)))
                                           handler_(message);
                                   }))) {}

bool RareServiceSignals::isService(const std::string& sender) {
    if (sender != service_ && sender == currentOwner(connection_))
        service_ = sender;
    return sender == service_;
}

} // namespace genv::client
