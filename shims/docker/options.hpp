// SPDX-License-Identifier: LGPL-2.1-or-later
// Which options the commands of docker and podman have and which of them take a value: without that
// nobody can tell an option's value from an image's name. Both engines share each table, since no
// name means a value to one and a switch to the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace genv::shims {

/// The options of a command. Words are separated by blanks; "e/env" is an option with a letter.
struct OptionTable {
    std::string_view values;                ///< those that take a value
    std::string_view switches;              ///< those that do not, other than after "="
    const OptionTable* inherited = nullptr; ///< what it has besides
};

/// An option as its table has it.
struct Option {
    std::string name; ///< the long one
    bool takesValue = false;
};

/// Before the command: docker's, podman's, and those of "container".
extern const OptionTable globalOptions;
/// Of "run" and "create".
extern const OptionTable runOptions;
extern const OptionTable execOptions;
/// Between "compose" and its command.
extern const OptionTable composeOptions;
extern const OptionTable composeRunOptions;
extern const OptionTable composeExecOptions;

/// Looks up by the long name, without its dashes; nothing where the table does not have it.
std::optional<Option> findOption(const OptionTable& table, std::string_view name);

/// Looks up by the letter.
std::optional<Option> findOption(const OptionTable& table, char letter);

} // namespace genv::shims
