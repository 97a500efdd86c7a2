// SPDX-License-Identifier: LGPL-2.1-or-later
// Waiting for one's turn as a person sees it: what is waited for and who has it, on a terminal one
// line that changes, elsewhere a line at the beginning and one at the end; and being told to stop.
#pragma once

#include "client/genvctl/common/stop_signals.hpp"
#include "client/genvctl/context/context.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace genv::ctl {

/// What is waited for, as text: short for a terminal's line, or in full. Nothing while the wait has
/// not begun.
using TurnText = std::function<std::optional<std::string>(bool brief)>;

/// The text for a request of devices: its place in the queue and who holds what since when. The
/// environment is known by its id, or by a process of it.
TurnText queueText(Client& client, std::function<bool(const EnvironmentEntry&)> isWaiting);
/// The text for a lock of an environment's devices: who holds which.
TurnText lockText(Client& client, const std::string& environment);

/// Shows a wait on standard error.
class TurnDisplay {
  public:
    explicit TurnDisplay(TurnText text);
    TurnDisplay(const TurnDisplay&) = delete;
    TurnDisplay& operator=(const TurnDisplay&) = delete;
    ~TurnDisplay();

    /// Shows what is so now.
    void update();
    /// The wait is over: makes room for what comes next.
    void end() noexcept;
    /// The same, and says what was granted, if there was a wait to be seen.
    void grant(const std::function<std::string()>& what);
    [[nodiscard]] std::chrono::milliseconds waited() const;

  private:
    TurnText text_;
    bool rewrites_;
    std::string shown_;
    bool hasWaited_ = false;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// What a wait that timed out means to the person who ran the command.
Failure timedOut(std::chrono::seconds timeout);

/// What it means that the service ended a wait before that, or one without a limit, or that
/// somebody cancelled it.
Failure cutShort(const Error& error);

/// Makes a waiting call, `call(client, waiting)`, which returns nothing when it was given up, and
/// shows the wait. `granted(answer)` says what there was to wait for. Throws Interrupted with
/// `undone` when it was told to stop, and Failure and Error.
template <typename Call, typename Granted>
auto inTurn(Context& context, TurnText text, std::optional<std::chrono::seconds> timeout,
            const std::string& undone, Call call, Granted granted) {
    const StopSignals stop(context.waitsWhileOpen);
    TurnDisplay display(std::move(text));
    const Waiting waiting =
        Waiting().setStopDescriptor(stop.descriptor()).setChanged([&] { display.update(); });
    try {
        auto answer = context.authorised([&](Client& client) { return call(client, waiting); });
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
