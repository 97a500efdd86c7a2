// SPDX-License-Identifier: LGPL-2.1-or-later
// What a command line of "submit" asks for: a job that runs a command or a script.
#pragma once

#include "client/genvctl/jobs/script.hpp"
#include "client/jobs/link/submitted_job.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

struct Work {
    jobs::NewJob job;                   ///< without a command if there is a script
    std::optional<Script> script;       ///< in place of a command
    std::vector<std::string> arguments; ///< of the script
    bool namesGpus = false; ///< whether an option asks for GPUs; otherwise the job has the default
};

/// Reads the options and the words of a parsed "submit", and the script that they name. `check` is
/// called with all options, those in the script included, and may throw. With `isCommand`, the
/// words are a command without "--". Throws Failure.
Work readWork(const CLI::App& command, const std::vector<std::string>& words, bool isCommand,
              const std::function<void(const CLI::App&)>& check);

} // namespace genv::ctl
