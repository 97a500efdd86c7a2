// SPDX-License-Identifier: LGPL-2.1-or-later
// The signals of the service as a sequence of events with the owner of the environment. A signal
// contains only the id of the environment, and the owner of an ended environment can no longer be
// requested.
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

/// Whether events contain the names of owners, which requires calls to the service.
enum class OwnerNames { Wanted, Unwanted };

/// Use it inside Connection::call() only. The connection must outlive it. While it listens, calls
/// on this connection go only to a service that is running (Connection::follow()).
class EventStream {
  public:
    /// Starts to listen. Throws sdbus::Error.
    EventStream(Connection& connection, OwnerNames names);
    EventStream(const EventStream&) = delete;
    EventStream& operator=(const EventStream&) = delete;
    ~EventStream() { connection_.stopFollowing(); }

    /// Waits for the next event. Returns nothing once the descriptor is readable. Throws
    /// sdbus::Error.
    std::optional<Event> next(int stopDescriptor);

    /// Whether the service is running, according to the signals so far.
    [[nodiscard]] bool serviceIsThere() { return eventSignals_.serviceIsThere(); }

  private:
    void onOwner(sdbus::Message& interfacesAdded);
    void onService(bool isThere);
    void readOwners();
    void nameOwner(Event& event);

    Connection& connection_;
    std::deque<Event> events_;
    std::map<std::string, std::string> owners_; ///< user names, by environment id
    bool ownersAreOld_ = false;
    // Declared last, so that no handler runs while the other members are destroyed.
    ServiceSignals eventSignals_;
    std::optional<ServiceSignals> ownerSignals_; ///< only if names are wanted
};

} // namespace genv::client
