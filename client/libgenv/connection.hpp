// SPDX-License-Identifier: LGPL-2.1-or-later
// The client's connection to the bus, which has no event loop of its own: the timeouts of calls,
// and the only place where a failure on the bus becomes an Error.
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
enum class ReplyTimeout {
    Usual,   ///< the default timeout of the bus
    Endless, ///< until the service replies or ends, because a user may be typing a password
};

/// Throws the Error that corresponds to a failure on the bus.
[[noreturn]] void throwTranslated(const sdbus::Error& error);

/// Returns the address of a bus, for one connection.
using BusAddress = std::function<std::string()>;

/// A connection to a bus. Proxies made from it must not outlive it.
class Connection {
  public:
    /// Connects to the bus whose address the function returns, or to the system bus if there is no
    /// function. Throws ServiceUnavailable if the bus cannot be reached.
    explicit Connection(BusAddress address = {});

    /// Returns the address function, for another connection to the same bus.
    [[nodiscard]] const BusAddress& address() const noexcept { return address_; }
    /// Returns the unique name that the bus has assigned to this connection.
    [[nodiscard]] std::string uniqueName() const { return bus_->getUniqueName(); }

    /// Returns a proxy for an object of the service.
    [[nodiscard]] std::unique_ptr<sdbus::IProxy> proxy(const std::string& path);
    /// Returns a proxy for an object of another bus name, or of one connection by its unique name.
    [[nodiscard]] std::unique_ptr<sdbus::IProxy> proxy(const std::string& name,
                                                       const std::string& path);
    /// Passes matching messages to the handler until the returned slot is destroyed.
    [[nodiscard]] sdbus::Slot addMatch(const std::string& rule,
                                       dbus::compat::MessageHandler handler);

    /// Whether calls can carry descriptors. A bus on another machine cannot: it is reached through
    /// a pipe.
    [[nodiscard]] bool sendsDescriptors();

    /// Sends the following calls only to this connection of the service, so that the bus does not
    /// start another one. If it is empty, the service is not running, and they fail at once.
    void follow(std::string service) { followed_ = std::move(service); }
    /// Sends the following calls to whichever service there is, and starts one if necessary.
    void stopFollowing() { followed_.reset(); }
    [[nodiscard]] bool isFollowing() const noexcept { return followed_.has_value(); }
    /// Returns the bus name to which calls are sent.
    [[nodiscard]] const std::string& service() const noexcept;

    /// Makes the call fail if the service is not running, instead of starting it.
    static void startNoService(const sdbus::MethodCall& message);

    void allowInteraction(bool allow);
    [[nodiscard]] bool allowsInteraction() const noexcept { return interactive_; }

    /// Runs a function that makes calls, with this timeout, and translates its errors.
    template <typename Calls>
    auto call(ReplyTimeout timeout, Calls&& calls) {
        try {
            setReplyTimeout(timeout);
            return std::forward<Calls>(calls)();
        } catch (const sdbus::Error& error) {
            fail(error);
        }
    }

    /// The same for calls to the service, which is started if it is not running, unless follow()
    /// was called. Throws ServiceUnavailable with the reason if there is none.
    template <typename Calls>
    auto callService(ReplyTimeout timeout, Calls&& calls) {
        call(ReplyTimeout::Usual, [this] { reachService(); });
        return call(timeout, std::forward<Calls>(calls));
    }

    /// Returns the default timeout of a call.
    [[nodiscard]] std::chrono::microseconds usualTimeout();

    /// Handles every message that has arrived, without waiting for more.
    void handleArrived();
    /// Waits until a message has arrived, or returns false when the descriptor is readable. -1
    /// means that there is no descriptor.
    [[nodiscard]] bool waitForArrival(int stopDescriptor);
    /// The same for two connections, until a message arrives on one of them or the time is over.
    [[nodiscard]] static bool waitForArrival(Connection& one, Connection& other, int stopDescriptor,
                                             std::optional<std::chrono::milliseconds> maxWait);

  private:
    void setReplyTimeout(ReplyTimeout timeout);
    void reachService();
    [[noreturn]] void fail(const sdbus::Error& error);

    BusAddress address_;
    std::optional<std::string> followed_; ///< unique name of the only service to call
    std::unique_ptr<sdbus::IConnection> bus_;
    ReplyTimeout replyTimeout_ = ReplyTimeout::Usual;
    bool hasReachedService_ = false;
    bool interactive_ = false;
};

} // namespace genv::client
