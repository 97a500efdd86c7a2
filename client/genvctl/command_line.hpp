// SPDX-License-Identifier: LGPL-2.1-or-later
// The command line: runs the command that the arguments name, and converts every failure to an exit
// status.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// Passes the definition of the command line to `use` for inspection: the complete definition, or
/// the part that is defined for a command line of these words.
void withCommandLine(const std::function<void(const CLI::App&)>& use,
                     const std::vector<std::string_view>& words = {});

/// Parses a command line without its first word and runs nothing. Throws Failure.
void parseOnly(const std::vector<std::string>& words);

/// Runs genvctl with the arguments of main() and returns the exit status. Does not throw.
int runCommandLine(int count, char** arguments) noexcept;

} // namespace genv::ctl
