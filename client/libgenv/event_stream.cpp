// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/event_stream.hpp"

#include "client/libgenv/conversions.hpp"
#include "dbus/contract/names.hpp"

#include <utility>

namespace genv::client {

namespace {

// The number of ended environments whose owners are remembered.
constexpr std::size_t maxOwners = 4096;

constexpr const char* newObjects =
    "interface='org.freedesktop.DBus.ObjectManager',member='InterfacesAdded'";

} // namespace

EventStream::EventStream(Connection& connection, OwnerNames names)
    : connection_(connection),
      eventSignals_(
          connection, std::string("interface='") + ManagerProxy::INTERFACE_NAME + "'",
          [this](sdbus::Message& signal) {
              if (auto event = toEvent(signal))
                  events_.push_back(*std::move(event));
          },
          [this](bool isThere) { onService(isThere); }) {
    if (names == OwnerNames::Wanted) {
        ownerSignals_.emplace(connection, newObjects,
                              [this](sdbus::Message& signal) { onOwner(signal); });
        readOwners(); // starts the service, for the first and only time
        connection_.handleArrived();
    }
    connection_.follow(eventSignals_.service());
}

void EventStream::onService(bool isThere) {
    if (connection_.isFollowing())
        connection_.follow(eventSignals_.service());
    ownersAreOld_ = ownersAreOld_ || isThere;
    Event event;
    event.kind = isThere ? Event::Kind::ServiceStarted : Event::Kind::ServiceEnded;
    event.time = now();
    events_.push_back(std::move(event));
}

void EventStream::onOwner(sdbus::Message& interfacesAdded) {
    sdbus::ObjectPath path;
    std::map<std::string, Dictionary> interfaces;
    interfacesAdded >> path >> interfaces;
    const auto found = interfaces.find(EnvironmentProxy::INTERFACE_NAME);
    if (found != interfaces.end())
        owners_[environmentId(path)] = found->second.at("User").get<std::string>();
}

void EventStream::readOwners() {
    const auto manager = connection_.proxy(dbus::contract::managerPath);
    for (auto& row : ManagerProxy(*manager).ListEnvironments())
        owners_.insert_or_assign(std::move(row.get<0>()), std::move(row.get<2>()));
    ownersAreOld_ = false;
}

void EventStream::nameOwner(Event& event) {
    if (!event.environment || !ownerSignals_)
        return;
    const bool isUnknown = ownersAreOld_ || !owners_.contains(*event.environment);
    if (isUnknown && eventSignals_.serviceIsThere()) {
        try {
            readOwners();
        } catch (const sdbus::Error&) {
            // The service has ended again, and the next event reports that.
        }
        connection_.handleArrived(); // signals of an environment that started and ended meanwhile
    }
    const auto found = owners_.find(*event.environment);
    if (found != owners_.end())
        event.user = found->second;
    // The notices of an environment come after its end, so its owner is forgotten only if the table
    // is full. If the id is used again, the owner is announced again.
    if (event.kind == Event::Kind::EnvironmentRemoved && owners_.size() > maxOwners)
        owners_.erase(*event.environment);
}

std::optional<Event> EventStream::next(int stopDescriptor) {
    for (;;) {
        connection_.handleArrived();
        if (!events_.empty()) {
            Event event = std::move(events_.front());
            events_.pop_front();
            nameOwner(event);
            return event;
        }
        if (!connection_.waitForArrival(stopDescriptor))
            return std::nullopt;
    }
}

} // namespace genv::client
