// SPDX-License-Identifier: LGPL-2.1-or-later
// Stays with a running command: moves its output to the log, passes signals on, writes why genvd
// took its GPUs, and waits for its end.
#pragma once

#include "client/jobs/runner/attempt_command.hpp"
#include "client/jobs/runner/attempt_output.hpp"
#include "client/watch/status_watch.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace genv::jobs {

/// The time from a stop by the manager to SIGKILL. genv-jobs gives a unit 30 seconds to stop.
inline constexpr std::chrono::milliseconds killAfterStop{25'000};

/// Blocks the signals that would end this process. From then on, superviseCommand() takes them.
void blockSignals();
/// Returns whether the manager has stopped the unit since, before there was a command.
[[nodiscard]] bool wasStoppedBefore();

struct Supervised {
    int status = -1; ///< exit status; -1 if a signal ended the command
    int signal = 0;
    bool wasStopped = false; ///< the user's manager stopped the unit before
    std::string notice;      ///< what genvd last said about the environment, while it ran
};

/// `watch` may be nullptr. The manager sends SIGTERM to all processes of the unit, so that one from
/// it is not passed on; a command that ignores it is killed before the manager kills this process.
[[nodiscard]] Supervised superviseCommand(RunningCommand command, Output& output,
                                          watch::StatusWatch* watch,
                                          std::chrono::milliseconds killAfter = killAfterStop);

} // namespace genv::jobs
