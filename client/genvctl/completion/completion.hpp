// SPDX-License-Identifier: LGPL-2.1-or-later
// Completes command lines. It reads the same definition that parses command lines, so a new command
// or option is completed without changes here.
#pragma once

#include "client/genvctl/definition/value_source.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

struct Candidate {
    std::string value;
    std::string help; ///< may be empty
};

/// Returns the current values of a kind, except for the first three kinds and for help topics.
using LiveValues = std::function<std::vector<Candidate>(ValueKind)>;

/// Returns the full name of a command, such as "genvctl devices find", independent of the name of
/// the program.
std::string commandPath(const CLI::App& command);

struct Completion {
    /// Free: there are no other candidates. File and Command: the shell adds its own.
    ValueKind kind = ValueKind::Free;
    std::size_t commandAt = 0; ///< for ValueKind::Command: the position of the command's name
    std::vector<Candidate> candidates;
};

/// Completes the last of the words after the program's name; it may be empty.
Completion complete(const CLI::App& app, const std::vector<std::string>& words,
                    const LiveValues& live);

/// Formats a completion for the shell's function: "values", "files" or "command N" on the first
/// line, then one candidate a line, with its help after a tab.
std::string completionText(const Completion& completion);

} // namespace genv::ctl
