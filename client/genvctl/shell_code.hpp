// SPDX-License-Identifier: LGPL-2.1-or-later
// What genvctl tells the shell function that called it: lines that call the functions of genv.bash
// with quoted words. Whatever anybody chose reaches the shell as a quoted word only. The lines go
// to a descriptor of their own, so that standard output stays the person's.
#pragma once

#include "client/genvctl/variables.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// A word that every POSIX shell reads back as exactly this text.
std::string shellQuoted(std::string_view text);

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

    [[nodiscard]] const std::string& text() const { return text_; }

    /// Writes it all to a descriptor. Throws Failure.
    void send(int descriptor) const;

  private:
    void line(std::string_view function, std::initializer_list<std::string_view> words);

    std::string text_;
};

} // namespace genv::ctl
