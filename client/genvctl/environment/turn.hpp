// SPDX-License-Identifier: LGPL-2.1-or-later
// Displays a wait in the queue: the requested devices and their holders. On a terminal, this is one
// line that is rewritten; elsewhere, one line at the beginning and one at the end. Also handles
// signals to stop.
#pragma once

#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/context/context.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace genv::ctl {

/// What a wait displays.
struct TurnLine {
    std::string text;
    /// Where only one line of each stage is printed, another stage is worth another line.
    std::string stage = {};
    bool counts = false; ///< the text has a time that passes
    bool stays = false;  ///< the text is about something that is over, and stays on the terminal

    TurnLine(std::string line) : text(std::move(line)) {} // NOLINT(google-explicit-constructor)
    TurnLine(std::string line, std::string itsStage)
        : text(std::move(line)), stage(std::move(itsStage)) {}
};

/// The line that a wait shows now, if any, and the number of requests in the queue.
struct TurnState {
    std::optional<TurnLine> line;
    std::size_t requests = 0;

    TurnState(std::optional<TurnLine> itsLine, // NOLINT(google-explicit-constructor)
              std::size_t requestsInQueue = 0)
        : line(std::move(itsLine)), requests(requestsInQueue) {}
    TurnState(TurnLine itsLine) : line(std::move(itsLine)) {} // NOLINT(google-explicit-constructor)
};

/// Returns the state of the request. `brief` makes its line short enough for a terminal. Before the
/// wait begins, the state has no line.
using TurnText = std::function<TurnState(bool brief)>;

/// Returns the text for a request for devices: its position in the queue, and the holder of each
/// device. The environment is identified by its id or by one of its processes.
TurnText queueText(Client& client, std::function<bool(const EnvironmentEntry&)> isWaiting);
/// Returns the text for a request that does not wait, except while environments are parked for it.
TurnText takingOnlyText(Client& client, std::function<bool(const EnvironmentEntry&)> isWaiting);
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
    /// Whether the line changes with the place in the queue. Otherwise the place is told once.
    [[nodiscard]] bool rewrites() const noexcept { return rewrites_; }
    /// Returns after how long to update although nothing has changed, or nothing.
    [[nodiscard]] std::optional<std::chrono::milliseconds> again() const;
    /// Returns for how long not to update although something has changed.
    [[nodiscard]] std::chrono::milliseconds pause() const;
    /// Ends the display and clears its line.
    void end() noexcept;
    /// The same, and prints the grant if the request had to wait.
    void grant(const std::function<std::string()>& what);
    [[nodiscard]] std::chrono::milliseconds waited() const;

  private:
    std::optional<TurnLine> text();
    void show(const TurnLine& line);

    TurnText text_;
    bool rewrites_;
    std::string shown_;
    bool hasWaited_ = false;
    bool counts_ = false;
    std::size_t requests_ = 0;     ///< in the queue
    std::set<std::string> stages_; ///< of which a line was printed
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Returns the failure of a command whose wait timed out.
Failure timedOut(std::chrono::seconds timeout);

/// Returns the failure of a command whose wait was ended by the service before its timeout, or was
/// canceled by someone.
Failure cutShort(const Error& error);

/// Makes a waiting call, `call(client, waiting)`, and displays the wait. The call returns nothing
/// if it was cancelled. `granted(answer)` describes the grant. Throws Interrupted with `undone` if
/// a signal to stop arrived, and Error. `whileOpen`: waits only as long as this descriptor is open,
/// if it is not -1.
template <typename Call, typename Granted>
auto displayed(Context& context, TurnDisplay& display, const std::string& undone, Call call,
               Granted granted, int whileOpen = -1) {
    const StopSignals stop(whileOpen);
    const Waiting waiting = Waiting()
                                .setStopDescriptor(stop.descriptor())
                                .setChanged([&] { display.update(); })
                                .setFollowsDevices(display.rewrites())
                                .setAgain([&] { return display.again(); })
                                .setPause([&] { return display.pause(); });
    auto answer = context.authorized([&](Client& client) { return call(client, waiting); });
    if (!answer)
        throw Interrupted(stop.take(), undone);
    display.grant([&] { return granted(*answer); });
    return *std::move(answer);
}

/// The same for a call that does not wait in the queue, but may take a while. Its errors stay as
/// they are.
template <typename Call, typename Granted>
auto atOnce(Context& context, TurnText text, const std::string& undone, Call call,
            Granted granted) {
    TurnDisplay display(std::move(text));
    return displayed(context, display, undone, std::move(call), std::move(granted));
}

/// The same for a call that waits in the queue. Throws Failure for a wait that ended without a
/// grant.
template <typename Call, typename Granted>
auto inTurn(Context& context, TurnText text, std::optional<std::chrono::seconds> timeout,
            const std::string& undone, Call call, Granted granted) {
    TurnDisplay display(std::move(text));
    try {
        return displayed(context, display, undone, std::move(call), std::move(granted),
                         context.waitsWhileOpen);
    } catch (const Error& error) {
        if (error.name() == dbus::contract::error::deviceUnavailable)
            throw cutShort(error);
        if (error.name() != dbus::contract::error::timeout)
            throw;
        if (timeout && display.waited() >= *timeout)
            throw timedOut(*timeout);
        throw cutShort(error);
    }
}

} // namespace genv::ctl
