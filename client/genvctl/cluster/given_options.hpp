// SPDX-License-Identifier: LGPL-2.1-or-later
// What was typed, read off the definition that parsed it: a cluster's commands take the options of
// this machine's, and have none of their own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace genv::ctl::cluster {

/// An option or argument of a command that was given.
struct GivenOption {
    std::string name; ///< "--gpus", or "TIME" of an argument
    std::vector<std::string> values;
};

/// A command that was named, with what was given to it and to its subcommand.
struct GivenCommand {
    const CLI::App* app = nullptr; ///< of the subcommand, where there is one
    std::string name;              ///< "devices"
    std::string subcommand;        ///< "query"; empty: none
    std::vector<GivenOption> options;

    [[nodiscard]] bool has(std::string_view option) const;
    /// Its value; the last one of several.
    [[nodiscard]] std::optional<std::string> value(std::string_view option) const;
};

/// The name by which a table knows an option: its first long one, or that of an argument.
std::string tableName(const CLI::Option& option);

/// Nothing where no command was named.
std::optional<GivenCommand> givenCommand(const CLI::App& app);

} // namespace genv::ctl::cluster
