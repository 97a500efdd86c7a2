// SPDX-License-Identifier: LGPL-2.1-or-later
// The implementation behind Client: the connection, the proxy of the manager object, which most
// calls use, and the signal subscriptions.
#pragma once

#include "client/libgenv/connection.hpp"
#include "client/libgenv/conversions.hpp"
#include "client/libgenv/event_stream.hpp"
#include "client/libgenv/proxies.hpp"
#include "client/libgenv/repeated_enforcement.hpp"
#include "client/libgenv/service_signals.hpp"
#include "client/libgenv/waiting_call.hpp"
#include "dbus/contract/names.hpp"
#include "genv/client.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv {

class [[gnu::visibility("hidden")]] Client::Implementation {
  public:
    explicit Implementation(client::BusAddress address = {})
        : connection_(std::make_unique<client::Connection>(std::move(address))) {}

    /// Returns the connection. Opens another one after a wait was canceled.
    client::Connection& connection() {
        if (!connection_)
            reconnect();
        return *connection_;
    }
    sdbus::IProxy& managerObject() {
        return *manager().object;
    }

    /// Runs a call on the manager object.
    template <typename Call>
    auto onManager(client::ReplyTimeout timeout, Call && call) {
        return connection().callService(timeout, [&] { return call(manager().proxy); });
    }

    /// Runs a call on an environment by its path, without checking first that it exists.
    template <typename Call>
    auto onEnvironment(client::ReplyTimeout timeout, const std::string& id, Call&& call) {
        return onObject(client::environmentPath(id), dbus::contract::error::noSuchEnvironment,
                        "there is no environment \"" + id + "\"", timeout,
                        std::forward<Call>(call));
    }

    template <typename Call>
    auto onDevice(client::ReplyTimeout timeout, std::uint32_t index, Call && call) {
        const std::string number = std::to_string(index);
        return onObject(std::string(dbus::contract::devicePathPrefix) + "/" + number,
                        dbus::contract::error::noSuchDevice,
                        "there is no device " + number + " on this machine", timeout,
                        std::forward<Call>(call));
    }

    /// Returns every object of the service with its properties.
    client::ManagedObjects managedObjects(StartsService starts = StartsService::Yes);

    void listenForNotices(std::uint32_t uid);
    std::vector<Notice> takeNotices();
    std::optional<Notice> nextNotice(int stopDescriptor);
    std::vector<EnforcementAction> enforceRepeatedly(const EnforceOptions& options,
                                                     std::chrono::seconds interval);
    std::optional<std::vector<EnforcementAction>> nextEnforcement(int stopDescriptor);
    /// Makes a call that waits for at most `timeout` on this side.
    bool wait(const Waiting& waiting, const client::WaitingCall::Send& send,
              std::optional<std::chrono::seconds> timeout = {});
    void listenForEvents(client::OwnerNames names);
    bool serviceIsThere();
    bool serviceIsInstalled();
    std::optional<Event> nextEvent(int stopDescriptor);

    /// Runs a call on an environment. The error for a path without an object becomes
    /// NoSuchEnvironment.
    template <typename Call>
    static auto aboutEnvironment(const std::string& id, Call&& call) {
        return aboutObject(dbus::contract::error::noSuchEnvironment,
                           "there is no environment \"" + id + "\"", std::forward<Call>(call));
    }

  private:
    /// The manager object of one service.
    struct Manager {
        Manager(client::Connection& connection, std::string name)
            : service(std::move(name)),
              object(connection.proxy(service, dbus::contract::managerPath)), proxy(*object) {}

        const std::string service; ///< the bus name to which calls are sent
        const std::unique_ptr<sdbus::IProxy> object;
        client::ManagerProxy proxy;
    };

    Manager& manager();
    bool waitOnBus(const Waiting& waiting, const client::WaitingCall::Send& send,
                   client::WaitingCall::Deadline deadline, client::WaitingCall::Begins& begins);
    bool awaitBus(const Waiting& waiting, client::WaitingCall::Deadline deadline);
    [[nodiscard]] bool listensApart() const {
        return events_ != nullptr || repeatedEnforcement_ != nullptr;
    }
    void disconnect();
    void reconnect();

    template <typename Call>
    auto onObject(const std::string& path, const char* missingName, const std::string& missingText,
                  client::ReplyTimeout timeout, Call&& call) {
        return aboutObject(missingName, missingText, [&] {
            return connection().callService(timeout, [&] {
                const auto proxy = connection().proxy(path);
                return std::forward<Call>(call)(*proxy);
            });
        });
    }

    template <typename Call>
    static auto aboutObject(const char* missingName, const std::string& missingText, Call&& call) {
        try {
            return std::forward<Call>(call)();
        } catch (const Error& error) {
            // The error for a path without an object.
            if (error.name() == "org.freedesktop.DBus.Error.UnknownObject")
                throw Error(missingName, missingText);
            throw;
        }
    }

    std::unique_ptr<client::Connection> connection_; // everything below uses it
    std::unique_ptr<Manager> manager_;
    std::vector<Notice> notices_;
    std::uint32_t noticesFor_ = 0;
    // The properties of a connection that was closed.
    client::BusAddress address_;
    bool interactive_ = false;
    bool hasNotices_ = false;
    std::unique_ptr<client::RareServiceSignals> noticeSubscription_;
    std::unique_ptr<client::EventStream> events_;
    std::unique_ptr<client::RepeatedEnforcement> repeatedEnforcement_;
};

} // namespace genv
