// SPDX-License-Identifier: LGPL-2.1-or-later
// Displays a wait in the queue: the requested devices and their holders. On a terminal, this is one
// line that is rewritten; elsewhere, one line at the beginning and one at the end. Also handles
// signals to stop.
#pragma once

#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/context/context.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace genv::ctl {

/// Returns the text about the request: short for a line on a terminal, or in full. Returns nothing
/// if the wait has not begun.
using TurnText = std::function<std::optional<std::string>(bool brief)>;

/// Returns the text for a request for devices: its position in the queue, and the holder of each
/// device. The environment is identified by its id or by one of its processes.
TurnText queueText(Client& client, std::function<bool(const EnvironmentEntry&)> isWaiting);
/// Returns the text for a lock on the devices of an environment: the holders of the locks.
TurnText lockText(Client& client, const std::string& environment);

/// Displays a wait on standard error.
class TurnDisplay {
  public:
    explicit TurnDisplay(TurnText text);
    TurnDisplay(const TurnDisplay&) = delete;
    TurnDisplay& operator=(const TurnDisplay&) = delete;
    ~TurnDisplay();

    /// Displays the current state.
    void update();
    /// Ends the display and clears its line.
    void end() noexcept;
    /// The same, and prints the grant if the request had to wait.
    void grant(const std::function<std::string()>& what);
    [[nodiscard]] std::chrono::milliseconds waited() const;

  private:
    TurnText text_;
    bool rewrites_;
    std::string shown_;
    bool hasWaited_ = false;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Returns the failure of a command whose wait timed out.
Failure timedOut(std::chrono::seconds timeout);

/// Returns the failure of a command whose wait was ended by the service before its timeout, or was
/// canceled by someone.
Failure cutShort(const Error& error);

/// Makes a waiting call, `call(client, waiting)`, and displays the wait. The call returns nothing
/// if it was cancelled. `granted(answer)` describes the grant. Throws Interrupted with `undone` if
/// a signal to stop arrived, and Failure and Error.
template <typename Call, typename Granted>
auto inTurn(Context& context, TurnText text, std::optional<std::chrono::seconds> timeout,
            const std::string& undone, Call call, Granted granted) {
    const StopSignals stop(context.waitsWhileOpen);
    TurnDisplay display(std::move(text));
    const Waiting waiting =
        Waiting().setStopDescriptor(stop.descriptor()).setChanged([&] { display.update(); });
    try {
        auto answer = context.authorized([&](Client& client) { return call(client, waiting); });
        if (answer) {
            display.grant([&] { return granted(*answer); });
            return *std::move(answer);
        }
    } catch (const Error& error) {
        if (error.name() == dbus::contract::error::deviceUnavailable)
            throw cutShort(error);
        if (error.name() != dbus::contract::error::timeout)
            throw;
        if (timeout && display.waited() >= *timeout)
            throw timedOut(*timeout);
        throw cutShort(error);
    }
    throw Interrupted(stop.take(), undone);
}

} // namespace genv::ctl
