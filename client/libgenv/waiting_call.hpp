// SPDX-License-Identifier: LGPL-2.1-or-later
// A call that waits in the service's queue. It has its own connection, because disconnecting is how
// a wait is cancelled. Meanwhile, the client's connection receives the signals. A restarted service
// keeps the queue position of clients that call again.
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
    /// Called with the result of the call: nullptr on success.
    using Answered = std::function<void(const sdbus::Error*)>;
    /// Sends the call on this connection and returns the proxy that receives the reply.
    using Send = std::function<std::unique_ptr<sdbus::IProxy>(Connection&, const Answered&)>;

    /// The client's connection must outlive this object. Throws Error.
    WaitingCall(Connection& listening, Waiting waiting);

    /// Sends the call and waits, and repeats both after a restart of the service. Returns false if
    /// the wait was cancelled. Throws Error.
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
