// SPDX-License-Identifier: LGPL-2.1-or-later
// A call that waits in the service's queue. It uses the client's connection, which meanwhile also
// receives the signals. Disconnecting is how a wait is canceled. A restarted service keeps the
// queue position of clients that call again. A service that was stopped stays stopped: the call
// waits until an administrator starts it. If the bus itself ends, so does this object; the client
// connects again and makes another one.
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

    /// Which connection the call uses. Only a connection of its own can be closed without effect on
    /// the client's signals.
    enum class Uses { SameConnection, OwnConnection };

    /// Whether the service may have had the call already, over a connection that was lost.
    enum class Begins { First, Again };

    using Deadline = std::optional<std::chrono::steady_clock::time_point>;

    /// The client's connection must outlive this object. Without a deadline, the call waits for a
    /// stopped service without limit. A call that is made again starts no service. Throws Error.
    WaitingCall(Connection& listening, Waiting waiting, Uses uses, Deadline deadline,
                Begins begins = Begins::First);
    WaitingCall(const WaitingCall&) = delete;
    WaitingCall& operator=(const WaitingCall&) = delete;
    ~WaitingCall();

    /// Sends the call and waits, and repeats both after a restart of the service. Returns false if
    /// the wait was canceled. Throws Error.
    bool run(const Send& send);

    /// Whether the service still has the call, because the wait was canceled or something else
    /// failed. Only closing the connection ends it.
    [[nodiscard]] bool isPending() const noexcept { return isPending_; }
    /// Whether the call was sent at least once.
    [[nodiscard]] bool hasCalled() const noexcept { return hasCalled_; }

  private:
    using Clock = std::chrono::steady_clock;

    bool attempt(const Send& send);
    bool awaitAnswer(Connection& connection, const bool& answered);
    bool awaitService();
    void onService();
    void listenForChanges();
    void tellOfChange();
    [[nodiscard]] std::optional<Clock::time_point> whenToTell(Clock::time_point begin) const;

    Connection& listening_;
    const Waiting waiting_;
    const Uses uses_;
    const Deadline deadline_;
    const bool followedBefore_;
    bool hasCalled_;
    bool isPending_ = false;
    bool hasChanged_ = true;
    bool listensForChanges_ = false;            ///< once the call has not been answered at once
    std::optional<Clock::time_point> nextCall_; ///< of `changed`, although nothing changes
    Clock::time_point pauseEnd_{};              ///< `changed` is not called before
    std::unique_ptr<ServiceSignals> service_;
};

} // namespace genv::client
