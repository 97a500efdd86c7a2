// SPDX-License-Identifier: LGPL-2.1-or-later
// The options of docker's and podman's commands, and which of them take a value. This is needed to
// distinguish an option's value from an image's name. Both engines share each table, because no
// option takes a value in one engine and none in the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace genv::shims {

/// The options of a command. Words are separated by blanks; "e/env" is an option with a letter.
struct OptionTable {
    std::string_view values;                ///< options that take a value
    std::string_view switches;              ///< options that take a value only after "="
    const OptionTable* inherited = nullptr; ///< additional options
};

/// An option from a table.
struct Option {
    std::string name; ///< the long name
    bool takesValue = false;
};

/// Options before the command: docker's, podman's, and those of "container".
extern const OptionTable globalOptions;
/// Options of "run" and "create".
extern const OptionTable runOptions;
extern const OptionTable execOptions;
/// Options between "compose" and its command.
extern const OptionTable composeOptions;
extern const OptionTable composeRunOptions;
extern const OptionTable composeExecOptions;

/// Finds an option by its long name, without dashes. Returns nothing if the table lacks it.
std::optional<Option> findOption(const OptionTable& table, std::string_view name);

/// Finds an option by its letter.
std::optional<Option> findOption(const OptionTable& table, char letter);

} // namespace genv::shims
