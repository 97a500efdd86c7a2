// SPDX-License-Identifier: LGPL-2.1-or-later
// The side that talks to the service: takes a sample when one is asked for, with three calls, and
// counts what the service tells of enforcement. It starts no service, makes no call while there is
// none, and goes on by itself when the service or the bus is back.
#pragma once

#include "client/monitor/exchange.hpp"
#include "genv/client.hpp"

#include <string>

namespace genv::monitor {

/// Used by one thread, which owns the connection.
class Watch {
  public:
    /// The exchange must outlive it. Ends once `stopDescriptor` is readable.
    Watch(Exchange& exchange, int stopDescriptor);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

    /// Returns when it is told to stop. Throws std::system_error.
    void run();

  private:
    void serve(Client& client);
    void hear(const Event& event);
    [[nodiscard]] Sample take(Client& client);
    void publishNone();
    void tell(const std::string& state);
    [[nodiscard]] bool isStopped() const;

    Exchange& exchange_;
    int stopDescriptor_;
    int wakeDescriptor_; ///< readable once a sample is wanted or it is to stop
    std::string told_;   ///< what was said last, so that nothing is said twice
};

} // namespace genv::monitor
