// SPDX-License-Identifier: LGPL-2.1-or-later
// The only table of the examples at the end of each command's help. A test parses every line of it.
#pragma once

#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace genv::ctl {

struct Example {
    std::string_view command;     ///< the full name, such as "genvctl devices find"
    std::string_view description; ///< a verb phrase
    std::string_view line;        ///< the command line
};

/// Returns all examples, in the order of the help.
std::span<const Example> allExamples();

/// Appends the examples to the footers of a program and of all its commands.
void addExamples(CLI::App& app);

} // namespace genv::ctl
