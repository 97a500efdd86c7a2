// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/waiting_call.hpp"

#include "client/libgenv/option_values.hpp"
#include "client/libgenv/proxies.hpp"
#include "dbus/contract/names.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace genv::client {

namespace contract = dbus::contract;

namespace {

using namespace std::chrono_literals;

// How long the service keeps the queue position of a call interrupted by a restart.
constexpr auto placeKept = 30s;
// The interval between calls to a missing service. Each call starts it if the bus can.
constexpr auto betweenCalls = 1s;
// A call that is answered sooner has not waited, and `changed` is not called.
constexpr auto atOnce = 200ms;

// The service or the bus received the call and then ended, so the request may be in the queue.
bool wasInterrupted(const ServiceUnavailable& error) {
    return error.name() == "org.freedesktop.DBus.Error.NoReply";
}

} // namespace

WaitingCall::WaitingCall(Connection& listening, Waiting waiting)
    : listening_(listening), waiting_(std::move(waiting)) {
    const auto note = [this](sdbus::Message&) { hasChanged_ = true; };
    listening_.call(ReplyTimeout::Usual, [&] {
        changes_ = std::make_unique<ServiceSignals>(listening_,
                                                    waiting_.values().changed
                                                        ? std::string("interface='") +
                                                              ManagerProxy::INTERFACE_NAME + "'"
                                                        : "",
                                                    note, [this](bool) { hasChanged_ = true; });
        if (waiting_.values().changed)
            deviceChanges_ = std::make_unique<ServiceSignals>(
                listening_,
                std::string("interface='org.freedesktop.DBus.Properties',path_namespace='") +
                    contract::devicePathPrefix + "'",
                note);
    });
}

bool WaitingCall::run(const Send& send) {
    std::optional<Clock::time_point> until;
    for (;;) {
        const auto began = Clock::now();
        try {
            return attempt(send);
        } catch (const ServiceUnavailable& error) {
            if (!until && !wasInterrupted(error))
                throw;
            // Only a call that has waited gets a new period for retries. A service that this very
            // call makes crash is therefore not called endlessly.
            if (!until || Clock::now() - began > placeKept)
                until = Clock::now() + placeKept;
            if (Clock::now() >= *until)
                throw;
        }
        if (!awaitService(*until))
            return false;
    }
}

bool WaitingCall::attempt(const Send& send) {
    Connection connection(listening_.address());
    if (listening_.allowsInteraction())
        connection.call(ReplyTimeout::Usual, [&] { connection.allowInteraction(true); });
    bool answered = false;
    std::optional<sdbus::Error> failure;
    const auto proxy = connection.callService(ReplyTimeout::Endless, [&] {
        return send(connection, [&](const sdbus::Error* error) {
            answered = true;
            if (error != nullptr)
                failure = *error;
        });
    });
    const auto quietUntil = Clock::now() + atOnce;
    bool stopped = false;
    for (;;) {
        connection.call(ReplyTimeout::Endless, [&] { connection.handleArrived(); });
        if (answered && failure)
            throwTranslated(*failure);
        if (answered || stopped)
            return answered;
        listening_.call(ReplyTimeout::Usual, [&] { listening_.handleArrived(); });
        const bool isQuiet = Clock::now() < quietUntil;
        if (hasChanged_ && waiting_.values().changed && !isQuiet) {
            hasChanged_ = false;
            waiting_.values().changed();
            continue; // its calls may have received messages
        }
        std::optional<std::chrono::milliseconds> maxWait;
        if (isQuiet)
            maxWait = std::chrono::ceil<std::chrono::milliseconds>(quietUntil - Clock::now());
        stopped = !Connection::waitForArrival(connection, listening_,
                                              waiting_.values().stopDescriptor, maxWait);
    }
}

bool WaitingCall::awaitService(Clock::time_point until) {
    const auto again = std::min(until, Clock::now() + betweenCalls);
    for (;;) {
        listening_.call(ReplyTimeout::Usual, [&] { listening_.handleArrived(); });
        const auto now = Clock::now();
        if (changes_->serviceIsThere() || now >= again)
            return true;
        if (!Connection::waitForArrival(listening_, listening_, waiting_.values().stopDescriptor,
                                        std::chrono::ceil<std::chrono::milliseconds>(again - now)))
            return false;
    }
}

} // namespace genv::client
