// SPDX-License-Identifier: LGPL-2.1-or-later
// Stays with a running command: moves its output to the log, passes signals on, writes why genvd
// took its GPUs, and waits for its end.
#pragma once

#include "client/jobs/runner/command.hpp"
#include "client/jobs/runner/output.hpp"
#include "client/watch/status_watch.hpp"

#include <optional>
#include <string>

namespace genv::jobs {

/// Blocks the signals that would end this process. From then on, superviseCommand() takes them.
void blockSignals();

struct Supervised {
    int status = -1; ///< exit status; -1 if a signal ended the command
    int signal = 0;
    bool wasStopped = false; ///< the user's manager stopped the unit before
    std::string notice;      ///< what genvd last said about the environment, while it ran
};

/// `watch` may be nullptr. The manager sends SIGTERM to all processes of the unit, so that one from
/// it is not passed on; a command that ignores it is killed before the manager kills this process.
[[nodiscard]] Supervised superviseCommand(RunningCommand command, Output& output,
                                          watch::StatusWatch* watch);

} // namespace genv::jobs
