// SPDX-License-Identifier: LGPL-2.1-or-later
// The command of an attempt as a child of this process.
#pragma once

#include "client/descriptor_functions.hpp"
#include "client/jobs/files/attempt.hpp"

#include <sys/types.h>

#include <string>
#include <variant>

namespace genv::jobs {

struct RunningCommand {
    pid_t pid = -1;
    client::Descriptor process; ///< pidfd
    client::Descriptor output;  ///< its standard output and standard error; not blocking
};

/// A command that could not be run, with the exit status that a shell gives it.
struct NotRun {
    int status = 0;
    std::string reason;
};

/// Starts the command in a session of its own, in its folder and with its umask, and with the
/// variables of this process. All signals have their default actions there.
[[nodiscard]] std::variant<RunningCommand, NotRun> startCommand(const AttemptOrder& order);

} // namespace genv::jobs
