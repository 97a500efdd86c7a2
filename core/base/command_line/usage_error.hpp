// SPDX-License-Identifier: LGPL-2.1-or-later
// The errors of command lines, in one form for all programs: the wrong word and what was expected,
// and a hint. CLI11 has its own wording for them.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace genv::core {

/// The exit status of every program for a usage error.
inline constexpr int usageStatus = 2;

/// The command line is invalid. The texts may contain foreign text, which is made safe when it is
/// printed.
class UsageError : public std::runtime_error {
  public:
    UsageError(const std::string& what, std::string hint)
        : std::runtime_error(what), hint_(std::move(hint)) {}

    /// Returns the hint about what to do next.
    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

  private:
    std::string hint_;
};

/// Returns the error for a word that is not a command of `parent`, such as "genvctl devices".
UsageError unknownCommand(const std::string& word, const std::string& parent);

/// Converts an error of parsing this program's command line.
UsageError usageError(const CLI::App& app, const CLI::ParseError& error);

/// Refuses a value in the callback of an option; the program's parser adds its hint. `expected`
/// describes valid values, such as "0-65535".
[[noreturn]] void refuseValue(std::string_view option, std::string_view value,
                              std::string_view expected);

} // namespace genv::core
