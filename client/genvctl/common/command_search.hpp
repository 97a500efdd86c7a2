// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the commands and options that words name, for a command line that is not parsed yet.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace genv::ctl {

/// Returns whether the value is the next word. The value of a flag, and an optional value, come
/// after "=".
bool takesNextWord(const CLI::Option& option);

/// Returns the commands below a command, or its option groups, which have no name.
std::vector<const CLI::App*> below(const CLI::App& command, bool named);

/// Returns the options of a command and of its option groups, or the arguments.
std::vector<const CLI::Option*> optionsOf(const CLI::App& command, bool positional);

/// Returns the option with this name that the command accepts, or null.
const CLI::Option* findOption(const CLI::App* command, const std::string& word);

/// Returns the command with this name below the parent, or null.
const CLI::App* findCommand(const CLI::App& parent, const std::string& word);

} // namespace genv::ctl
