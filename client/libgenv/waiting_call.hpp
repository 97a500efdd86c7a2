// SPDX-License-Identifier: LGPL-2.1-or-later
// A call that waits its turn in the service. It has a connection of its own, because disconnecting
// is how a wait is given up; the client's connection hears meanwhile what changes. A service that
// is restarted keeps the place for those who call again.
#pragma once

#include "client/libgenv/connection.hpp"
#include "client/libgenv/service_signals.hpp"
#include "genv/waiting.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace genv::client {

class WaitingCall {
  public:
    /// To be called with how the call ended: nullptr for a success.
    using Answered = std::function<void(const sdbus::Error*)>;
    /// Sends the call on this connection, and returns the proxy that the reply comes through.
    using Send = std::function<std::unique_ptr<sdbus::IProxy>(Connection&, const Answered&)>;

    /// The client's connection must outlive it. Throws Error.
    WaitingCall(Connection& listening, Waiting waiting);

    /// Sends and waits; again after a restart of the service. False: it was given up. Throws Error.
    bool run(const Send& send);

  private:
    using Clock = std::chrono::steady_clock;

    bool attempt(const Send& send);
    bool awaitService(Clock::time_point until);

    Connection& listening_;
    const Waiting waiting_;
    bool hasChanged_ = true;
    std::unique_ptr<ServiceSignals> changes_;
    std::unique_ptr<ServiceSignals> deviceChanges_;
};

} // namespace genv::client
