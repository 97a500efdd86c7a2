// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/bus_objects.hpp"

#include "dbus/contract/names.hpp"

#include <chrono>
#include <utility>

namespace genv::service {

namespace {

// Matches every disconnection on the bus. One match for each client would exceed the bus's limit on
// matches.
constexpr const char* disconnections =
    "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
    "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''";

} // namespace

BusObjects::BusObjects(BusCalls& calls, journal::RefusalLog& refusals, dbus::BusContext context,
                       std::function<void()> disconnected)
    : calls_(calls), refusals_(refusals), context_(std::move(context)),
      bus_(dbus::compat::makeProxy(*calls.questions, dbus::contract::busDriver,
                                   dbus::contract::busDriverPath)),
      manager_(*calls.connection, context_, GENV_VERSION),
      publisher_(*calls.connection, context_, manager_),
      notices_(context_.sharing, context_.machine, context_.runtime, manager_),
      intake_(*calls.connection, *calls.questions, calls.callers, context_.machine.processes,
              context_.runtime.clock, context_.runtime.log),
      busSource_(*calls.connection, *calls.questions, intake_, std::move(disconnected)),
      clientsLeaving_(watchClients()) {}

sdbus::Slot BusObjects::watchClients() {
    return dbus::compat::addMatch(
        *calls_.connection, disconnections, [this](sdbus::Message& message) {
            // A match rule filters only broadcasts. A unicast message from any client can arrive
            // here despite the rule, so only the bus driver is trusted to report who has
            // disconnected.
            if (dbus::compat::senderOf(message) != dbus::contract::busDriver)
                return;
            std::string name;
            message >> name;
            onDisconnected(name);
        });
}

void BusObjects::onDisconnected(const std::string& busName) {
    intake_.onDisconnected(busName);
    calls_.gate.onDisconnected(busName);
    refusals_.onDisconnected(busName);
    calls_.callers.onDisconnected(busName);
    manager_.onDisconnected(busName);
    if (calls_.waitingCalls.has(busName))
        cancelWaits(busName);
}

// A bus that ends closes the connections of its clients one by one, and may report each to the
// service, which is still connected. Their waits keep their places in the queue. So a wait is
// canceled only once the bus has answered after that, which it does not while it ends.
void BusObjects::cancelWaits(const std::string& busName) {
    const sdbus::MethodCall question =
        dbus::compat::makeCall(*bus_, dbus::contract::busDriver, "GetId");
    dbus::compat::send(*bus_, question, std::chrono::microseconds::max(),
                       [this, busName](sdbus::Message&, const sdbus::Error* error) {
                           if (error == nullptr)
                               calls_.waitingCalls.onDisconnected(busName);
                       });
}

} // namespace genv::service
