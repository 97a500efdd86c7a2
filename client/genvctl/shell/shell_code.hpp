// SPDX-License-Identifier: LGPL-2.1-or-later
// What genvctl tells the shell function that called it: lines that call the functions of data/shell
// with quoted words. Whatever anybody chose reaches the shell as a quoted word only. The lines go
// to a descriptor of their own, so that standard output stays the person's.
#pragma once

#include "client/genvctl/shell/variables.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// A shell that there is code for.
enum class Shell { Bash, Zsh, Fish };

/// The name of a shell's program, such as "bash".
std::string_view nameOf(Shell shell);

/// The shell whose program has this name; nothing where there is no code for it.
std::optional<Shell> shellNamed(std::string_view name);

/// The name of the program that started this one: in "$(genvctl ...)" the shell that evaluates what
/// is printed, since a substitution forks the shell.
std::string callingProgram();

/// What to do where the calling shell is not set up, in one line.
std::string setUpHint();

/// A word that this shell reads back as exactly this text.
std::string shellQuoted(Shell shell, std::string_view text);

/// Collects lines and sends them.
class ShellCode {
  public:
    /// Starts an activation: the prompt's prefix ("" leaves the prompt) and the folder that comes
    /// first in PATH.
    void enter(std::string_view prompt, std::string_view shims);
    /// Ends one: every variable becomes what it was.
    void leave(std::string_view shims);
    /// Gives variables their values; their earlier ones are kept for leave().
    void set(const std::vector<Variable>& variables);

    /// What the prompt reads from now on, and its first line at a time when the shell knew all of
    /// it.
    void watch(std::string_view statusFile, std::string_view firstLine);
    /// The sentence of this number in the status file is no news to the shell.
    void know(std::string_view number);

    [[nodiscard]] std::string text(Shell shell) const;

    /// Writes it all to a descriptor, as a shell reads it. Throws Failure.
    void send(Shell shell, int descriptor) const;

  private:
    std::vector<std::vector<std::string>> calls_; ///< of functions with words
};

} // namespace genv::ctl
