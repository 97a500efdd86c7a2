// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/repeated_enforcement.hpp"

#include "client/libgenv/proxies.hpp"
#include "dbus/contract/names.hpp"

#include <utility>

namespace genv::client {

namespace contract = dbus::contract;

namespace {

std::string ownerOfTheService(Connection& connection) {
    // Any call starts a service that is not running, but a request for the owner of its name does
    // not.
    connection.proxy(contract::managerPath)
        ->callMethod("Ping")
        .onInterface("org.freedesktop.DBus.Peer");
    std::string owner;
    connection.proxy(contract::busDriver, contract::busDriverPath)
        ->callMethod("GetNameOwner")
        .onInterface(contract::busDriver)
        .withArguments(contract::busName)
        .storeResultsTo(owner);
    return owner;
}

std::string ruleForTheEndOf(const std::string& owner) {
    return std::string("type='signal',sender='") + contract::busDriver + "',interface='" +
           contract::busDriver + "',member='NameOwnerChanged',arg0='" + owner + "'";
}

} // namespace

RepeatedEnforcement::RepeatedEnforcement(Connection& connection)
    : connection_(connection), owner_(ownerOfTheService(connection)),
      manager_(connection.proxy(owner_, contract::managerPath)) {
    ownerChanges_ = connection_.addMatch(ruleForTheEndOf(owner_), [this](sdbus::Message& message) {
        // A match rule only filters broadcasts. A signal sent directly to this connection is not
        // filtered, so the sender is checked here.
        if (dbus::compat::senderOf(message) == contract::busDriver)
            ended_ = true;
    });
    manager_->uponSignal("Enforced")
        .onInterface(ManagerProxy::INTERFACE_NAME)
        .call([this](const BusActions& actions) { cycles_.push_back(actions); });
    dbus::compat::listen(*manager_);
}

BusActions RepeatedEnforcement::begin(const Dictionary& options) {
    // A generated proxy takes over every signal of its proxy object. Calls therefore use another
    // proxy object than the one that listens.
    const auto proxy = connection_.proxy(owner_, contract::managerPath);
    return ManagerProxy(*proxy).Enforce(options);
}

std::optional<BusActions> RepeatedEnforcement::next(int stopDescriptor) {
    for (;;) {
        connection_.handleArrived();
        if (!cycles_.empty()) {
            BusActions cycle = std::move(cycles_.front());
            cycles_.pop_front();
            return cycle;
        }
        if (ended_)
            throw ServiceUnavailable("org.freedesktop.DBus.Error.NameHasNoOwner",
                                     "it ended, and nothing is enforced any more");
        if (!connection_.waitForArrival(stopDescriptor))
            return std::nullopt;
    }
}

} // namespace genv::client
