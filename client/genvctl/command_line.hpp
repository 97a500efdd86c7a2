// SPDX-License-Identifier: LGPL-2.1-or-later
// The command line: from arguments to a command that is run, and from whatever goes wrong to an
// exit status.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// Hands over the definition of the command line, to be looked at: the whole, or what is defined
/// for a command line of these words.
void withCommandLine(const std::function<void(const CLI::App&)>& use,
                     const std::vector<std::string_view>& words = {});

/// Parses a command line without its first word, and runs nothing. Throws Failure.
void parseOnly(const std::vector<std::string>& words);

/// Runs genvctl with main()'s arguments and returns its exit status. Throws nothing.
int runCommandLine(int count, char** arguments) noexcept;

} // namespace genv::ctl
