// SPDX-License-Identifier: LGPL-2.1-or-later
// Signals that the service itself sent. Anyone may send a signal directly to a connection, and
// match rules filter only broadcasts. A signal therefore counts only if its sender owns the
// service's name at that moment, according to the bus.
#pragma once

#include "client/libgenv/connection.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::client {

/// Receives signals during its lifetime, through Connection::handleArrived(). Use it inside
/// Connection::call(). The connection must outlive it.
class ServiceSignals {
  public:
    /// May throw std::exception, for example if arguments have other types; the signal is then
    /// ignored.
    using SignalHandler = std::function<void(sdbus::Message&)>;
    /// Called with false when the service has ended, and with true when a new one owns the name.
    using OwnerChanged = std::function<void(bool isThere)>;

    /// `which` is the rest of a match rule, such as "member='Notice'". If it is empty, only changes
    /// of the service's owner are received. Throws sdbus::Error.
    ServiceSignals(Connection& connection, const std::string& which, SignalHandler handler,
                   OwnerChanged ownerChanged = {});
    ServiceSignals(const ServiceSignals&) = delete;
    ServiceSignals& operator=(const ServiceSignals&) = delete;

    /// Also receives other signals of the service, which takes one question to the bus. Throws
    /// sdbus::Error.
    void add(const std::string& which, SignalHandler handler);

    /// Whether the service is running, according to the signals so far. Throws sdbus::Error.
    [[nodiscard]] bool serviceIsThere() { return !service().empty(); }
    /// Returns the unique name of the service, according to the signals so far; empty if it is not
    /// running. The first call waits for the bus, if it has not yet answered. Throws sdbus::Error.
    [[nodiscard]] const std::string& service();

  private:
    void match(const std::string& which, SignalHandler handler);
    void askForOwner();
    void changeOwner(sdbus::Message& message);

    Connection& connection_;
    OwnerChanged ownerChanged_;
    std::string owner_;                       ///< its unique name; empty if it is not running
    std::unique_ptr<sdbus::IProxy> question_; ///< for the owner; null once it is known
    bool isAnswered_ = false;
    std::optional<sdbus::Error> failure_; ///< of the question
    // Declared last, so that no handler runs while the other members are destroyed.
    sdbus::Slot ownerChanges_;
    std::vector<sdbus::Slot> signals_;
};

/// The same for callers that rarely receive signals. It asks the bus for the owner of the name only
/// after a signal has arrived, so a command without signals does not wait for that reply. A signal
/// is ignored if its service was not known before and has ended meanwhile.
class RareServiceSignals {
  public:
    /// Throws sdbus::Error.
    RareServiceSignals(Connection& connection, const std::string& which,
                       ServiceSignals::SignalHandler handler);
    RareServiceSignals(const RareServiceSignals&) = delete;
    RareServiceSignals& operator=(const RareServiceSignals&) = delete;

  private:
    bool isService(const std::string& sender);

    Connection& connection_;
    ServiceSignals::SignalHandler handler_;
    std::string service_; ///< the unique name of the last connection known to be the service
    sdbus::Slot signals_; ///< declared last, so that no handler runs during destruction
};

} // namespace genv::client
