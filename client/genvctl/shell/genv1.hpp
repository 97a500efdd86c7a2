// SPDX-License-Identifier: LGPL-2.1-or-later
// Command lines of genv 1 that mean something else today, or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// Answers a call by the shell function of genv 1, "activate --shell PID" or "deactivate --shell
/// PID", whose output that function evaluates: prints code that cleans the shell up, and tells the
/// person what to do. The exit status; nothing for any other command line. `words` are those behind
/// the program's name.
std::optional<int> answerShellOfGenv1(const std::vector<std::string>& words);

/// The code for bash that cleans a shell up where genv 1 has left something in it.
std::string genv1CleanupWhereNeeded();

/// The words of a command line with "-host" and "-hostfile" of "remote" as they are spelled today:
/// "-h" asks for the help.
std::vector<std::string> asSpelledToday(std::vector<std::string> words);

} // namespace genv::ctl
