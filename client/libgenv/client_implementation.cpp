// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/client_implementation.hpp"

#include "client/libgenv/option_values.hpp"

#include <algorithm>

namespace genv {

namespace contract = dbus::contract;
using client::ReplyTimeout;

client::Properties client::allProperties(sdbus::IProxy& proxy, const char* interface) {
    sdbus::MethodCall call =
        dbus::compat::makeCall(proxy, "org.freedesktop.DBus.Properties", "GetAll");
    call << interface;
    return client::readProperties(proxy.callMethod(call));
}

client::ManagedObjects Client::Implementation::managedObjects(client::StartsService starts) {
    const auto get = [&] {
        sdbus::MethodCall message = dbus::compat::makeCall(
            *managerObject_, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects");
        if (starts == client::StartsService::No)
            client::Connection::startNoService(message);
        return client::readManagedObjects(managerObject_->callMethod(message));
    };
    return starts == client::StartsService::No ? connection_.call(ReplyTimeout::Usual, get)
                                               : connection_.callService(ReplyTimeout::Usual, get);
}

void Client::Implementation::listenForNotices(std::uint32_t uid) {
    connection_.call(ReplyTimeout::Usual, [&] {
        noticeSubscription_ = std::make_unique<client::RareServiceSignals>(
            connection_,
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
        events_ = std::make_unique<client::EventStream>(connection_, manager_, names);
    };
    if (names == client::OwnerNames::Wanted)
        connection_.callService(ReplyTimeout::Usual, listen);
    else
        connection_.call(ReplyTimeout::Usual, listen);
}

bool Client::Implementation::serviceIsThere() {
    if (!events_)
        throw Error(contract::error::failed,
                    "not listening for events: call listenForEvents() first");
    return connection_.call(ReplyTimeout::Usual, [&] {
        connection_.handleArrived();
        return events_->serviceIsThere();
    });
}

bool Client::Implementation::serviceIsInstalled() {
    std::vector<std::string> names;
    connection_.call(ReplyTimeout::Usual, [&] {
        const auto driver = connection_.proxy(contract::busDriver, contract::busDriverPath);
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
    return connection_.call(ReplyTimeout::Usual, [&] { return events_->next(stopDescriptor); });
}

bool Client::Implementation::wait(const Waiting& waiting, const client::WaitingCall::Send& send) {
    const bool answered = client::WaitingCall(connection_, waiting).run(send);
    // The service sent its notices before it replied on the other connection. They arrive on this
    // connection before the reply to this Ping.
    connection_.call(ReplyTimeout::Usual, [&] {
        managerObject_->callMethod("Ping").onInterface("org.freedesktop.DBus.Peer");
    });
    return answered;
}

std::vector<Notice> Client::Implementation::takeNotices() {
    // The service sends notices before it replies, and the bus keeps the order. All notices caused
    // by earlier calls have therefore arrived.
    connection_.call(ReplyTimeout::Usual, [&] { connection_.handleArrived(); });
    return std::exchange(notices_, {});
}

std::optional<Notice> Client::Implementation::nextNotice(int stopDescriptor) {
    if (!noticeSubscription_)
        throw Error(contract::error::failed,
                    "not listening for notices: call listenForNotices() first");
    return connection_.call(ReplyTimeout::Usual, [&]() -> std::optional<Notice> {
        for (;;) {
            connection_.handleArrived();
            if (!notices_.empty()) {
                Notice notice = std::move(notices_.front());
                notices_.erase(notices_.begin());
                return notice;
            }
            if (!connection_.waitForArrival(stopDescriptor))
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
    return connection_.callService(ReplyTimeout::Endless, [&] {
        auto enforcement = std::make_unique<client::RepeatedEnforcement>(connection_);
        auto actions = client::toActions(enforcement->begin(dictionary));
        repeatedEnforcement_ = std::move(enforcement);
        return actions;
    });
}

std::optional<std::vector<EnforcementAction>>
Client::Implementation::nextEnforcement(int stopDescriptor) {
    if (!repeatedEnforcement_)
        throw Error(contract::error::failed, "no repeated enforcement is running");
    return connection_.call(ReplyTimeout::Usual,
                            [&]() -> std::optional<std::vector<EnforcementAction>> {
                                const auto actions = repeatedEnforcement_->next(stopDescriptor);
                                if (!actions)
                                    return std::nullopt;
                                return client::toActions(*actions);
                            });
}

} // namespace genv
