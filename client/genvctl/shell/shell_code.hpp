// SPDX-License-Identifier: LGPL-2.1-or-later
// The reply of genvctl to the shell function that called it: lines that call the functions of
// data/shell with quoted words. Text chosen by users reaches the shell only as a quoted word. The
// lines go to a separate descriptor, so that standard output stays free for the user.
#pragma once

#include "client/genvctl/shell/variables.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// The supported shells.
enum class Shell { Bash, Zsh, Fish };

/// Returns the name of a shell's program, such as "bash".
std::string_view nameOf(Shell shell);

/// Returns the shell whose program has this name, or nothing if the shell is not supported.
std::optional<Shell> shellNamed(std::string_view name);

/// Returns the name of the program that started this one. In "$(genvctl ...)" this is the shell
/// that evaluates the output, because a substitution forks the shell.
std::string callingProgram();

/// Returns a line about how to set up the calling shell.
std::string setUpHint();

/// Quotes a text as one word for this shell.
std::string shellQuoted(Shell shell, std::string_view text);

/// Collects lines and sends them.
class ShellCode {
  public:
    /// Starts an activation, with the prefix of the prompt ("" leaves the prompt unchanged) and the
    /// folder that comes first in PATH.
    void enter(std::string_view prompt, std::string_view shims);
    /// Ends an activation and restores every variable.
    void leave(std::string_view shims);
    /// Sets variables and saves their earlier values for leave().
    void set(const std::vector<Variable>& variables);

    /// Sets the status file that the prompt reads, and its first line at a time when the shell knew
    /// the whole file.
    void watch(std::string_view statusFile, std::string_view firstLine);
    /// Marks the sentence with this number in the status file as known to the shell.
    void know(std::string_view number);

    [[nodiscard]] std::string text(Shell shell) const;

    /// Writes all lines to a descriptor. Throws Failure.
    void send(Shell shell, int descriptor) const;

  private:
    std::vector<std::vector<std::string>> calls_; ///< functions with their arguments
};

} // namespace genv::ctl
