// SPDX-License-Identifier: LGPL-2.1-or-later
// Talks to a service: takes a sample when one is requested, with few calls, and counts the
// enforcement actions and the parkings that the service reports. It does not start the service,
// makes no call while it is not running, and resumes when the service or the bus is back.
#pragma once

#include "client/monitor/exchange.hpp"
#include "genv/client.hpp"

#include <chrono>
#include <map>
#include <string>

namespace genv::monitor {

/// For use by one thread, which owns the connection. Derived classes implement how a machine is
/// reached.
class Watch {
  public:
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    virtual ~Watch();

    /// Returns when it is stopped. Throws std::system_error.
    virtual void run() = 0;

  protected:
    /// The exchange must outlive this object. Stops when `stopDescriptor` is readable. Messages
    /// start with `name`, unless it is empty.
    Watch(Exchange& exchange, int stopDescriptor, std::string name);

    /// Takes samples over one connection until it is stopped. Throws Error when the bus
    /// disconnects.
    void serve(Client& client);
    virtual Sample take(Client& client) = 0;
    static ServiceState ask(Client& client);

    /// Waits until a sample is requested, until it is stopped, or until this time.
    void awaitRequest(std::chrono::steady_clock::time_point until) const;
    [[nodiscard]] bool stopsWithin(std::chrono::milliseconds time) const;
    [[nodiscard]] bool isStopped() const { return stopsWithin(std::chrono::milliseconds{0}); }
    [[nodiscard]] Exchange& exchange() const noexcept { return exchange_; }
    /// Prints a message about the state of the machine, unless it is the same as the last one.
    virtual void logState(const std::string& state);
    void report(const std::string& text) const;

  private:
    void onEvent(const Event& event);
    void onNotice(const Event& event);
    void noteGrant(const Event& event);
    [[nodiscard]] double secondsSinceGrant(const Event& event) const;

    Exchange& exchange_;
    int stopDescriptor_;
    int wakeDescriptor_; ///< readable when a sample is requested or when to stop
    std::string name_;
    /// The last grant to each environment, from which it resumes if it is parked.
    std::map<std::string, Time> granted_;
    std::string loggedState_; ///< the last message, so that none is repeated
};

/// Watches the service of this machine.
class LocalWatch final : public Watch {
  public:
    LocalWatch(Exchange& exchange, int stopDescriptor) : Watch(exchange, stopDescriptor, {}) {}

    void run() override;

  private:
    Sample take(Client& client) override;
};

} // namespace genv::monitor
