// SPDX-License-Identifier: LGPL-2.1-or-later
// Signals that the service itself sent. Anybody may send a signal to a single connection, past the
// rules that filter what the bus broadcasts; so each is believed only when it comes from the
// connection that owns the service's name at that moment, which the bus itself tells.
#pragma once

#include "client/libgenv/connection.hpp"

#include <functional>
#include <string>

namespace genv::client {

/// Hears signals as long as it lives, through Connection::handleArrived(). To be made inside
/// Connection::call(); the connection must outlive it.
class ServiceSignals {
  public:
    /// May throw std::exceptions, such as for arguments of other types: the signal is passed over.
    using Heard = std::function<void(sdbus::Message&)>;
    /// Told when the service has ended, or (true) another one has taken its place.
    using OwnerChanged = std::function<void(bool isThere)>;

    /// `which` is the rest of a match rule, such as "member='Notice'"; empty: none, only what
    /// becomes of the service. Throws sdbus::Error.
    ServiceSignals(Connection& connection, const std::string& which, Heard heard,
                   OwnerChanged ownerChanged = {});
    ServiceSignals(const ServiceSignals&) = delete;
    ServiceSignals& operator=(const ServiceSignals&) = delete;

    /// Whether the service runs, as far as has been heard.
    [[nodiscard]] bool serviceIsThere() const noexcept { return !owner_.empty(); }

  private:
    void changeOwner(sdbus::Message& message);

    Heard heard_;
    OwnerChanged ownerChanged_;
    std::string owner_; ///< its unique name; empty: there is none
    // Last, so that nothing is heard any more when the rest goes.
    sdbus::Slot ownerChanges_;
    sdbus::Slot signals_;
};

/// The same for who hears of the service now and then: the bus is asked who owns the name only once
/// there is a signal, so that a command that hears none need not wait for that. A signal of a
/// service that had not been heard before, and has ended meanwhile, is passed over.
class RareServiceSignals {
  public:
    /// Throws sdbus::Error.
    RareServiceSignals(Connection& connection, const std::string& which,
                       ServiceSignals::Heard heard);
    RareServiceSignals(const RareServiceSignals&) = delete;
    RareServiceSignals& operator=(const RareServiceSignals&) = delete;

  private:
    bool isService(const std::string& sender);

    Connection& connection_;
    ServiceSignals::Heard heard_;
    std::string service_; ///< the unique name of the last that was found to be the service
    sdbus::Slot signals_; ///< last, so that nothing is heard any more when the rest goes
};

} // namespace genv::client
