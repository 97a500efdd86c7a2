// SPDX-License-Identifier: LGPL-2.1-or-later
// What the service tells everybody, one event after the other, with whose environment each is
// about: a signal names the environment only, and one that has ended cannot be asked about any
// more.
#pragma once

#include "client/libgenv/connection.hpp"
#include "client/libgenv/proxies.hpp"
#include "client/libgenv/service_signals.hpp"
#include "genv/types.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>

namespace genv::client {

/// Whether events come with the names of the owners, which the service has to be called for.
enum class OwnerNames { Wanted, Unwanted };

/// To be used inside Connection::call(); the connection and the proxy must outlive it.
class EventStream {
  public:
    /// Begins to listen. Throws sdbus::Error.
    EventStream(Connection& connection, ManagerProxy& manager, OwnerNames names);
    EventStream(const EventStream&) = delete;
    EventStream& operator=(const EventStream&) = delete;

    /// Waits for the next event; nothing once the descriptor is readable. Throws sdbus::Error.
    std::optional<Event> next(int stopDescriptor);

    /// Whether the service runs, as far as has been heard.
    [[nodiscard]] bool serviceIsThere() const noexcept { return eventSignals_.serviceIsThere(); }

  private:
    void hearOwner(sdbus::Message& interfacesAdded);
    void hearService(bool isThere);
    void readOwners();
    void nameOwner(Event& event);

    Connection& connection_;
    ManagerProxy& manager_;
    std::deque<Event> events_;
    std::map<std::string, std::string> owners_; ///< user names, by environment
    bool ownersAreOld_ = false;
    // Last, so that nothing is heard any more when the rest goes.
    ServiceSignals eventSignals_;
    std::optional<ServiceSignals> ownerSignals_; ///< where names are wanted
};

} // namespace genv::client
