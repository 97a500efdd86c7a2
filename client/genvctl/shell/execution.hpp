// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the user's command in place of genvctl.
#pragma once

#include "client/genvctl/definition/value_source.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// Treats all words, from the first word that is not an option of `command`, as the command to run.
/// `values` are those of the first one.
void takeEverythingFromTheCommandOn(CLI::App& command,
                                    const char* help = "Run COMMAND with its arguments",
                                    ValueKind values = ValueKind::Command);
/// Returns these words. Call it in the callback of `command`. Throws CLI::ParseError.
std::vector<std::string> commandWords(const CLI::App& command);
/// Returns an empty list if no command may be given. Call it in the same place. Throws
/// CLI::ParseError if there is a command.
std::vector<std::string> noCommandWords(const CLI::App& command);

/// Runs the command in this process, so that its PID, exit status and signals are its own. If it
/// cannot be run, exits like a shell: with 127 if the command is not found, otherwise with 126.
[[noreturn]] void execute(const std::vector<std::string>& words);

} // namespace genv::ctl
