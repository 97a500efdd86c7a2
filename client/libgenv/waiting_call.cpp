// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/waiting_call.hpp"

#include "client/libgenv/option_contents.hpp"
#include "client/libgenv/proxies.hpp"
#include "client/libgenv/service_start.hpp"
#include "dbus/contract/names.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace genv::client {

namespace contract = dbus::contract;

namespace {

using namespace std::chrono_literals;

// A call that makes the service crash each time is given up after so many attempts, each shorter
// than this. Before that, the unit's own limit (StartLimitBurst=) stops the service, for which the
// call then waits.
constexpr int maxShortAttempts = 41;
constexpr auto shortAttempt = 5s;
// The interval between checks whether a stopped service is still installed.
constexpr auto betweenChecks = 5s;
// A call that is answered sooner has not waited, and `changed` is not called.
constexpr auto atOnce = 200ms;

// The service or the bus received the call and then ended, so the request may be in the queue.
bool wasInterrupted(const ServiceUnavailable& error) {
    return error.name() == "org.freedesktop.DBus.Error.NoReply";
}

} // namespace

WaitingCall::WaitingCall(Connection& listening, Waiting waiting, Uses uses, Deadline deadline,
                         Begins begins)
    : listening_(listening), waiting_(std::move(waiting)), uses_(uses), deadline_(deadline),
      followedBefore_(listening.isFollowing()), hasCalled_(begins == Begins::Again) {
    listening_.call(ReplyTimeout::Usual, [&] {
        service_ = std::make_unique<ServiceSignals>(listening_, "", nullptr,
                                                    [this](bool) { onService(); });
        if (hasCalled_)
            listening_.follow(service_->service());
    });
}

WaitingCall::~WaitingCall() {
    if (!followedBefore_)
        listening_.stopFollowing();
}

// Most calls are answered before they need this, which takes up to three questions to the bus.
void WaitingCall::listenForChanges() {
    constexpr const char* properties = "interface='org.freedesktop.DBus.Properties',";
    std::vector<std::string> rules{std::string("interface='") + ManagerProxy::INTERFACE_NAME +
                                   "',member='QueueChanged'"};
    if (waiting_.values().followsDevices)
        rules.push_back(std::string(properties) + "path_namespace='" + contract::devicePathPrefix +
                        "'");
    if (!waiting_.values().object.empty())
        rules.push_back(std::string(properties) + "path='" + waiting_.values().object + "'");
    listening_.call(ReplyTimeout::Usual, [&] {
        for (const std::string& rule : rules)
            service_->add(rule, [this](sdbus::Message&) { hasChanged_ = true; });
    });
    listensForChanges_ = true;
}

void WaitingCall::onService() {
    hasChanged_ = true;
    if (hasCalled_)
        listening_.follow(service_->service());
}

bool WaitingCall::run(const Send& send) {
    bool interrupted = hasCalled_;
    int shortAttempts = 0;
    if (interrupted && !awaitService())
        return false;
    for (;;) {
        const auto began = Clock::now();
        try {
            return attempt(send);
        } catch (const ServiceUnavailable& error) {
            if (!waiting_.values().repeats || (!wasInterrupted(error) && !interrupted))
                throw;
            interrupted = true;
            shortAttempts = Clock::now() - began < shortAttempt ? shortAttempts + 1 : 0;
            if (wasInterrupted(error) && shortAttempts >= maxShortAttempts)
                throw;
        }
        if (!awaitService())
            return false;
    }
}

bool WaitingCall::attempt(const Send& send) {
    std::optional<Connection> own;
    if (uses_ == Uses::OwnConnection) {
        own.emplace(listening_.address());
        if (listening_.allowsInteraction())
            own->call(ReplyTimeout::Usual, [&] { own->allowInteraction(true); });
        if (hasCalled_)
            listening_.call(ReplyTimeout::Usual, [&] { own->follow(service_->service()); });
    }
    Connection& connection = own ? *own : listening_;
    bool answered = false;
    std::optional<sdbus::Error> failure;
    const auto proxy = connection.callService(ReplyTimeout::Endless, [&] {
        return send(connection, [&](const sdbus::Error* error) {
            answered = true;
            isPending_ = false;
            if (error != nullptr)
                failure = *error;
        });
    });
    // The bus starts the service for the first call, and only for that.
    hasCalled_ = true;
    isPending_ = true;
    listening_.call(ReplyTimeout::Usual, [&] { listening_.follow(service_->service()); });
    const bool isAnswered = awaitAnswer(connection, answered);
    if (failure)
        throwTranslated(*failure);
    return isAnswered;
}

void WaitingCall::tellOfChange() {
    if (!listensForChanges_)
        listenForChanges();
    hasChanged_ = false;
    waiting_.values().changed();
    const auto delay = waiting_.values().again ? waiting_.values().again() : std::nullopt;
    const auto now = Clock::now();
    nextCall_ = delay ? std::optional(now + *delay) : std::nullopt;
    pauseEnd_ = now + (waiting_.values().pause ? waiting_.values().pause() : 0ms);
}

// Returns when to call `changed` next, or nothing if only a change tells. `begin`: not before.
std::optional<WaitingCall::Clock::time_point>
WaitingCall::whenToTell(Clock::time_point begin) const {
    auto next = nextCall_;
    if (hasChanged_)
        next = next ? std::min(*next, pauseEnd_) : pauseEnd_;
    return next && waiting_.values().changed ? std::optional(std::max(begin, *next)) : std::nullopt;
}

// Returns false if the wait was canceled.
bool WaitingCall::awaitAnswer(Connection& connection, const bool& answered) {
    const auto quietUntil = Clock::now() + atOnce;
    bool stopped = false;
    for (;;) {
        connection.call(ReplyTimeout::Endless, [&] { connection.handleArrived(); });
        if (answered || stopped)
            return answered;
        listening_.call(ReplyTimeout::Usual, [&] { listening_.handleArrived(); });
        if (answered)
            return true;
        const auto next = whenToTell(quietUntil);
        const auto now = Clock::now();
        if (next && *next <= now) {
            tellOfChange();
            continue; // its calls may have received messages
        }
        std::optional<std::chrono::milliseconds> maxWait;
        if (next)
            maxWait = std::chrono::ceil<std::chrono::milliseconds>(*next - now);
        stopped = !Connection::waitForArrival(connection, listening_,
                                              waiting_.values().stopDescriptor, maxWait);
    }
}

// Returns false if the wait was canceled.
bool WaitingCall::awaitService() {
    auto nextCheck = Clock::now() + betweenChecks;
    for (;;) {
        const bool isThere = listening_.call(ReplyTimeout::Usual, [&] {
            listening_.handleArrived();
            return service_->serviceIsThere();
        });
        if (isThere)
            return true;
        if (hasChanged_ && waiting_.values().changed)
            tellOfChange();
        const auto now = Clock::now();
        if (deadline_ && *deadline_ <= now)
            throw Error(contract::error::timeout, "the service genvd does not run");
        if (nextCheck <= now) {
            listening_.call(ReplyTimeout::Usual, [&] { requireInstalled(listening_); });
            nextCheck = now + betweenChecks;
        }
        const auto next = deadline_ ? std::min(*deadline_, nextCheck) : nextCheck;
        const auto maxWait = std::chrono::ceil<std::chrono::milliseconds>(next - now);
        if (!Connection::waitForArrival(listening_, listening_, waiting_.values().stopDescriptor,
                                        maxWait))
            return false;
    }
}

} // namespace genv::client
