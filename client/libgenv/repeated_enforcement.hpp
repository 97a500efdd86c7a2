// SPDX-License-Identifier: LGPL-2.1-or-later
// An enforcement that the service repeats for this client. It is bound to the connection that owned
// the service's name when it began. Anyone may send a signal to a single connection, so only the
// signals of that owner count. When that connection is gone, the enforcement is over, even if a new
// service has taken the name.
#pragma once

#include "client/libgenv/connection.hpp"
#include "client/libgenv/conversions.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace genv::client {

/// Use it inside Connection::call() only. The connection must outlive it.
class RepeatedEnforcement {
  public:
    /// Finds the service, starting it if necessary, and listens. Throws sdbus::Error.
    explicit RepeatedEnforcement(Connection& connection);
    RepeatedEnforcement(const RepeatedEnforcement&) = delete;
    RepeatedEnforcement& operator=(const RepeatedEnforcement&) = delete;

    /// Requests the enforcement, with the interval among the options, and returns the actions of
    /// the first cycle. Throws sdbus::Error.
    BusActions begin(const Dictionary& options);

    /// Returns the actions of the next cycle, or nothing once the descriptor is readable. Throws
    /// ServiceUnavailable when the service has ended, and sdbus::Error.
    std::optional<BusActions> next(int stopDescriptor);

  private:
    Connection& connection_;
    const std::string owner_; ///< the unique name of the service
    std::deque<BusActions> cycles_;
    bool ended_ = false;
    // Declared last, so that no handler runs while the other members are destroyed.
    std::unique_ptr<sdbus::IProxy> manager_;
    sdbus::Slot ownerChanges_;
};

} // namespace genv::client
