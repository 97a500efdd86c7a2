// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of a script and of the command line, together.
#pragma once

#include "client/genvctl/jobs/script.hpp"
#include "client/jobs/link/submitted_job.hpp"

#include <functional>

namespace CLI {
class App;
}

namespace genv::ctl {

/// Returns a job with the options of the parsed command and of the script's lines. An option of the
/// command replaces that of the script. `check` is called with all of them first, and may throw.
/// Throws Failure, with the line of an invalid option.
jobs::NewJob readWithScript(const CLI::App& command, const Script& script,
                            const std::function<void(const CLI::App&)>& check = {});

} // namespace genv::ctl
