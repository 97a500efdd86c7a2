// SPDX-License-Identifier: LGPL-2.1-or-later
// Running somebody's command in the place of genvctl.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// Makes everything from the first word that is no option of `command` on the words of the command
/// to run.
void takeEverythingFromTheCommandOn(CLI::App& command);
/// These words, to be asked for in the callback of `command`. Throws CLI::ParseError.
std::vector<std::string> commandWords(const CLI::App& command);
/// None, to be asked for in the same place where no command is to be run. Throws CLI::ParseError
/// where there is one.
std::vector<std::string> noCommandWords(const CLI::App& command);

/// Runs the command in this process, so that its pid, exit status and signals are its own. Where it
/// cannot be run, ends as a shell says it: with 127 where there is no such command, else with 126.
[[noreturn]] void execute(const std::vector<std::string>& words);

} // namespace genv::ctl
