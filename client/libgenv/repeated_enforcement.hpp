// SPDX-License-Identifier: LGPL-2.1-or-later
// An enforcement that the service repeats for this client. It is bound to the one connection that
// answered for the service's name when it began: anybody may send a signal to a single connection,
// so only that connection's are heard, and when it is gone the enforcement is over, even where a
// new service has taken the name.
#pragma once

#include "client/libgenv/connection.hpp"
#include "client/libgenv/conversions.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace genv::client {

/// To be used inside Connection::call(); the connection must outlive it.
class RepeatedEnforcement {
  public:
    /// Finds the service, which is started if need be, and listens. Throws sdbus::Error.
    explicit RepeatedEnforcement(Connection& connection);
    RepeatedEnforcement(const RepeatedEnforcement&) = delete;
    RepeatedEnforcement& operator=(const RepeatedEnforcement&) = delete;

    /// Asks for it, with the interval among the options, and returns what the first cycle did.
    /// Throws sdbus::Error.
    BusActions begin(const Dictionary& options);

    /// What the next cycle did; nothing once the descriptor is readable. Throws ServiceUnavailable
    /// when the service has ended, and sdbus::Error.
    std::optional<BusActions> next(int stopDescriptor);

  private:
    Connection& connection_;
    const std::string owner_; ///< the service's unique name
    std::deque<BusActions> cycles_;
    bool ended_ = false;
    // Last, so that nothing is heard any more when the rest goes.
    std::unique_ptr<sdbus::IProxy> manager_;
    sdbus::Slot ownerChanges_;
};

} // namespace genv::client
