// SPDX-License-Identifier: LGPL-2.1-or-later
// Handles command lines of genv 1 that now have another meaning, or none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// Handles a call by the shell function of genv 1, "activate --shell PID" or "deactivate --shell
/// PID", which evaluates the output. Prints code that cleans up the shell, and a message about what
/// to do. Returns the exit status, or nothing for any other command line. `words` does not contain
/// the program's name.
std::optional<int> answerShellOfGenv1(const std::vector<std::string>& words);

/// Returns code for bash that cleans up a shell if it contains remains of genv 1.
std::string genv1CleanupWhereNeeded();

/// Throws Failure with what to use instead for a command of genv 1 that no longer exists: "llm" and
/// "remote llm".
void refuseRemovedCommand(const std::vector<std::string>& words);

/// Replaces "-host" and "-hostfile" of "remote" by their present spelling, because "-h" prints the
/// help.
std::vector<std::string> asSpelledToday(std::vector<std::string> words);

} // namespace genv::ctl
