// SPDX-License-Identifier: LGPL-2.1-or-later
// The side that talks to a service: takes a sample when one is asked for, with four calls, and
// counts what the service tells of enforcement. It starts no service, makes no call while there is
// none, and goes on by itself when the service or the bus is back.
#pragma once

#include "client/monitor/exchange.hpp"
#include "genv/client.hpp"

#include <chrono>
#include <string>

namespace genv::monitor {

/// Used by one thread, which owns the connection. How a machine is reached is what derived ones
/// know.
class Watch {
  public:
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    virtual ~Watch();

    /// Returns when it is told to stop. Throws std::system_error.
    virtual void run() = 0;

  protected:
    /// The exchange must outlive it. It is to stop once `stopDescriptor` is readable. Messages
    /// begin with `name`, unless that is empty.
    Watch(Exchange& exchange, int stopDescriptor, std::string name);

    /// Serves from one connection until it is told to stop. Throws Error when the bus is gone.
    void serve(Client& client);
    virtual Sample take(Client& client) = 0;
    static ServiceState ask(Client& client);

    /// Waits until a sample is wanted, it is to stop, or that moment has come.
    void awaitRequest(std::chrono::steady_clock::time_point until) const;
    [[nodiscard]] bool stopsWithin(std::chrono::milliseconds time) const;
    [[nodiscard]] bool isStopped() const { return stopsWithin(std::chrono::milliseconds{0}); }
    [[nodiscard]] Exchange& exchange() const noexcept { return exchange_; }
    /// Says what has become of the machine, unless that was said last.
    virtual void tell(const std::string& state);
    void say(const std::string& text) const;

  private:
    void hear(const Event& event);

    Exchange& exchange_;
    int stopDescriptor_;
    int wakeDescriptor_; ///< readable once a sample is wanted or it is to stop
    std::string name_;
    std::string told_; ///< what was said last, so that nothing is said twice
};

/// The service of this machine.
class LocalWatch final : public Watch {
  public:
    LocalWatch(Exchange& exchange, int stopDescriptor) : Watch(exchange, stopDescriptor, {}) {}

    void run() override;

  private:
    Sample take(Client& client) override;
};

} // namespace genv::monitor
