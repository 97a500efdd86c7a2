// SPDX-License-Identifier: LGPL-2.1-or-later
// The bus as the client sees it: a connection without a loop of its own, how long a call may take,
// and the one place where a failure on the bus becomes an Error.
#pragma once

#include "dbus/contract/sdbus_compat.hpp"
#include "genv/error.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace genv::client {

/// How long a call waits for its reply.
enum class Patience {
    Usual,   ///< as the bus does by default
    Endless, ///< until the service answers or is gone: a person may be typing a password
};

/// Whether a call starts a service that is not running.
enum class StartsService { Yes, No };

/// Throws the Error that a failure on the bus is.
[[noreturn]] void throwTranslated(const sdbus::Error& error);

/// Gives the address of a bus, for one connection.
using BusAddress = std::function<std::string()>;

/// A connection to a bus. Proxies made from it must not outlive it.
class Connection {
  public:
    /// To the bus at the address that the function gives, or without one to the system bus. Throws
    /// ServiceUnavailable where there is none.
    explicit Connection(BusAddress address = {});

    /// What another connection to the same bus is made from.
    [[nodiscard]] const BusAddress& address() const noexcept { return address_; }
    /// The name that the bus has given this connection.
    [[nodiscard]] std::string uniqueName() const { return bus_->getUniqueName(); }

    /// An object of the service.
    [[nodiscard]] std::unique_ptr<sdbus::IProxy> proxy(const std::string& path);
    /// An object of another name on the bus, or of one connection by its unique name.
    [[nodiscard]] std::unique_ptr<sdbus::IProxy> proxy(const std::string& name,
                                                       const std::string& path);
    /// Hears messages that match, until the result is destroyed.
    [[nodiscard]] sdbus::Slot addMatch(const std::string& rule,
                                       dbus::compat::MessageHandler handler);

    /// Makes a call fail where there is no service, instead of starting one.
    static void startNoService(const sdbus::MethodCall& message);

    void allowInteraction(bool allow);
    [[nodiscard]] bool allowsInteraction() const noexcept { return interactive_; }

    /// Runs what makes calls, with this patience, and translates what goes wrong.
    template <typename Calls>
    auto call(Patience patience, Calls&& calls) {
        try {
            setPatience(patience);
            return std::forward<Calls>(calls)();
        } catch (const sdbus::Error& error) {
            fail(error);
        }
    }

    /// The same for calls of the service, which start it if it is not running. Throws
    /// ServiceUnavailable with the reason if it cannot start.
    template <typename Calls>
    auto callService(Patience patience, Calls&& calls) {
        call(Patience::Usual, [this] { reachService(); });
        return call(patience, std::forward<Calls>(calls));
    }

    /// How long a usual call waits for its reply.
    [[nodiscard]] std::chrono::microseconds usualTimeout();

    /// Handles every message that has arrived, without waiting for more.
    void handleArrived();
    /// Waits until a message has arrived, or, with the result false, the descriptor is readable;
    /// -1: there is none.
    [[nodiscard]] bool waitForArrival(int stopDescriptor);
    /// Waits until a message has arrived on one of two connections or the time is up; as above.
    [[nodiscard]] static bool waitForArrival(Connection& one, Connection& other, int stopDescriptor,
                                             std::optional<std::chrono::milliseconds> longest);

  private:
    void setPatience(Patience patience);
    void reachService();
    [[noreturn]] void fail(const sdbus::Error& error);

    BusAddress address_;
    std::unique_ptr<sdbus::IConnection> bus_;
    Patience patience_ = Patience::Usual;
    bool hasReachedService_ = false;
    bool interactive_ = false;
};

} // namespace genv::client
