// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/client_implementation.hpp"

#include "client/libgenv/option_contents.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <exception>

namespace genv {

namespace contract = dbus::contract;
using client::ReplyTimeout;

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds betweenBuses = 100ms;

bool isLossOfBus(const ServiceUnavailable& error) {
    return error.name() == "System.Error.ECONNRESET" || error.name() == "System.Error.ENOTCONN" ||
           error.name() == "org.freedesktop.DBus.Error.Disconnected";
}

} // namespace

client::Properties client::allProperties(sdbus::IProxy& proxy, const char* interface,
                                         StartsService starts) {
    sdbus::MethodCall call =
        dbus::compat::makeCall(proxy, "org.freedesktop.DBus.Properties", "GetAll");
    if (starts == StartsService::No)
        client::Connection::startNoService(call);
    call << interface;
    return client::readProperties(proxy.callMethod(call));
}

client::ManagedObjects Client::Implementation::managedObjects(StartsService starts) {
    const auto get = [&] {
        sdbus::MethodCall message = dbus::compat::makeCall(
            managerObject(), "org.freedesktop.DBus.ObjectManager", "GetManagedObjects");
        if (starts == StartsService::No)
            client::Connection::startNoService(message);
        return client::readManagedObjects(managerObject().callMethod(message));
    };
    return starts == StartsService::No ? connection().call(ReplyTimeout::Usual, get)
                                       : connection().callService(ReplyTimeout::Usual, get);
}

void Client::Implementation::listenForNotices(std::uint32_t uid) {
    noticesFor_ = uid;
    connection().call(ReplyTimeout::Usual, [&] {
        noticeSubscription_ = std::make_unique<client::RareServiceSignals>(
            connection(),
            std::string("interface='") + client::ManagerProxy::INTERFACE_NAME + "',member='Notice'",
            [this, uid](sdbus::Message& signal) {
                auto [to, notice] = client::toNotice(signal);
                if (to == uid)
                    notices_.push_back(std::move(notice));
            });
    });
}

void Client::Implementation::listenForEvents(client::OwnerNames names) {
    const auto listen = [&] {
        events_ = std::make_unique<client::EventStream>(connection(), names);
    };
    if (names == client::OwnerNames::Wanted)
        connection().callService(ReplyTimeout::Usual, listen);
    else
        connection().call(ReplyTimeout::Usual, listen);
}

bool Client::Implementation::serviceIsThere() {
    if (!events_)
        throw Error(contract::error::failed,
                    "not listening for events: call listenForEvents() first");
    return connection().call(ReplyTimeout::Usual, [&] {
        connection().handleArrived();
        return events_->serviceIsThere();
    });
}

bool Client::Implementation::serviceIsInstalled() {
    std::vector<std::string> names;
    connection().call(ReplyTimeout::Usual, [&] {
        const auto driver = connection().proxy(contract::busDriver, contract::busDriverPath);
        driver->callMethod("ListActivatableNames")
            .onInterface(contract::busDriver)
            .storeResultsTo(names);
        if (std::ranges::find(names, contract::busName) != names.end())
            return;
        bool isThere = false;
        driver->callMethod("NameHasOwner")
            .onInterface(contract::busDriver)
            .withArguments(contract::busName)
            .storeResultsTo(isThere);
        if (isThere)
            names.emplace_back(contract::busName);
    });
    return std::ranges::find(names, contract::busName) != names.end();
}

std::optional<Event> Client::Implementation::nextEvent(int stopDescriptor) {
    if (!events_)
        throw Error(contract::error::failed,
                    "not listening for events: call listenForEvents() first");
    return connection().call(ReplyTimeout::Usual, [&] { return events_->next(stopDescriptor); });
}

Client::Implementation::Manager& Client::Implementation::manager() {
    if (!manager_ || manager_->service != connection().service())
        manager_ = std::make_unique<Manager>(connection(), connection().service());
    return *manager_;
}

// A request outlasts the bus. A subscription ends with it, and so does a bus on another machine.
bool Client::Implementation::wait(const Waiting& waiting, const client::WaitingCall::Send& send,
                                  std::optional<std::chrono::seconds> timeout) {
    using client::WaitingCall;
    const auto deadline = timeout ? WaitingCall::Deadline(Clock::now() + *timeout) : std::nullopt;
    auto begins = WaitingCall::Begins::First;
    for (;;) {
        try {
            return waitOnBus(waiting, send, deadline, begins);
        } catch (const ServiceUnavailable& error) {
            const client::BusAddress& address = connection_ ? connection_->address() : address_;
            const bool mayConnectAgain = !listensApart() && !address;
            if (!waiting.values().repeats || !isLossOfBus(error) ||
                begins == WaitingCall::Begins::First || !mayConnectAgain)
                throw;
        }
        if (!awaitBus(waiting, deadline))
            return false;
    }
}

// Waits until the call was answered or the bus has ended. `begins` becomes Again once the service
// may have the call.
bool Client::Implementation::waitOnBus(const Waiting& waiting,
                                       const client::WaitingCall::Send& send,
                                       client::WaitingCall::Deadline deadline,
                                       client::WaitingCall::Begins& begins) {
    using client::WaitingCall;
    // Disconnecting cancels a wait. A subscription that must not lose a signal keeps its
    // connection.
    const bool apart = listensApart();
    const auto uses = apart ? WaitingCall::Uses::OwnConnection : WaitingCall::Uses::SameConnection;
    bool answered = false;
    bool isPending = false;
    std::exception_ptr failure;
    {
        WaitingCall call(connection(), waiting, uses, deadline, begins);
        try {
            answered = call.run(send);
        } catch (...) {
            failure = std::current_exception();
        }
        isPending = call.isPending();
        if (call.hasCalled())
            begins = WaitingCall::Begins::Again;
    }
    if (isPending && !apart)
        disconnect();
    if (failure)
        std::rethrow_exception(failure);
    // The service sent its notices before it replied on the other connection. They arrive on this
    // connection before the reply to this Ping.
    if (apart)
        connection().callService(ReplyTimeout::Usual, [&] {
            managerObject().callMethod("Ping").onInterface("org.freedesktop.DBus.Peer");
        });
    return answered;
}

// Connects to the bus as soon as there is one again. Returns false if the wait was canceled.
bool Client::Implementation::awaitBus(const Waiting& waiting,
                                      client::WaitingCall::Deadline deadline) {
    if (connection_)
        disconnect();
    for (;;) {
        pollfd stop{waiting.values().stopDescriptor, POLLIN, 0};
        if (::poll(&stop, 1, static_cast<int>(betweenBuses.count())) > 0)
            return false;
        try {
            reconnect();
            return true;
        } catch (const ServiceUnavailable&) {
            connection_.reset();
        }
        if (deadline && Clock::now() >= *deadline)
            throw Error(contract::error::timeout, "the system bus does not run");
    }
}

void Client::Implementation::disconnect() {
    interactive_ = connection_->allowsInteraction();
    address_ = connection_->address();
    hasNotices_ = noticeSubscription_ != nullptr;
    noticeSubscription_.reset();
    manager_.reset();
    connection_.reset();
}

// Opens another connection like the one that was closed.
void Client::Implementation::reconnect() {
    connection_ = std::make_unique<client::Connection>(address_);
    if (interactive_)
        connection_->call(ReplyTimeout::Usual, [&] { connection_->allowInteraction(true); });
    if (hasNotices_)
        listenForNotices(noticesFor_);
}

std::vector<Notice> Client::Implementation::takeNotices() {
    // The service sends notices before it replies, and the bus keeps the order. All notices caused
    // by earlier calls have therefore arrived.
    connection().call(ReplyTimeout::Usual, [&] { connection().handleArrived(); });
    return std::exchange(notices_, {});
}

std::optional<Notice> Client::Implementation::nextNotice(int stopDescriptor) {
    connection(); // subscribes again after a wait was canceled
    if (!noticeSubscription_)
        throw Error(contract::error::failed,
                    "not listening for notices: call listenForNotices() first");
    return connection().call(ReplyTimeout::Usual, [&]() -> std::optional<Notice> {
        for (;;) {
            connection().handleArrived();
            if (!notices_.empty()) {
                Notice notice = std::move(notices_.front());
                notices_.erase(notices_.begin());
                return notice;
            }
            if (!connection().waitForArrival(stopDescriptor))
                return std::nullopt;
        }
    });
}

std::vector<EnforcementAction>
Client::Implementation::enforceRepeatedly(const EnforceOptions& options,
                                          std::chrono::seconds interval) {
    client::Dictionary dictionary = options.values().arguments;
    dictionary.emplace("interval", sdbus::Variant(static_cast<std::uint64_t>(interval.count())));
    repeatedEnforcement_.reset();
    return connection().callService(ReplyTimeout::Endless, [&] {
        auto enforcement = std::make_unique<client::RepeatedEnforcement>(connection());
        auto actions = client::toActions(enforcement->begin(dictionary));
        repeatedEnforcement_ = std::move(enforcement);
        return actions;
    });
}

std::optional<std::vector<EnforcementAction>>
Client::Implementation::nextEnforcement(int stopDescriptor) {
    if (!repeatedEnforcement_)
        throw Error(contract::error::failed, "no repeated enforcement is running");
    return connection().call(ReplyTimeout::Usual,
                             [&]() -> std::optional<std::vector<EnforcementAction>> {
                                 const auto actions = repeatedEnforcement_->next(stopDescriptor);
                                 if (!actions)
                                     return std::nullopt;
                                 return client::toActions(*actions);
                             });
}

} // namespace genv
