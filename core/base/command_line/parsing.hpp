// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the command line of a program without commands.
#pragma once

#include "core/base/command_line/usage_error.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace genv::core {

/// Parses the command line. Returns the text to print instead of running the program: its help or
/// its version. Throws UsageError.
std::optional<std::string> parseCommandLine(CLI::App& app, int count, const char* const* arguments);

/// Parses the command line and prints the help, the version or an error. Returns the status with
/// which the program then ends, or nothing if it is to run.
std::optional<int> exitAfterParsing(CLI::App& app, int count, const char* const* arguments);

/// Prints an error of a program and its hint on standard error.
void complain(std::string_view program, const UsageError& error);

} // namespace genv::core
