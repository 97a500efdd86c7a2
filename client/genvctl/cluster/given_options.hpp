// SPDX-License-Identifier: LGPL-2.1-or-later
// The options given on the command line, read from the parser's definition. The commands for a
// cluster accept the same options as those for this machine and define none of their own.
#pragma once

#include "client/genvctl/definition/cluster_meaning.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace genv::ctl::cluster {

/// An option or argument that was given to a command.
struct GivenOption {
    std::string name; ///< "--gpus", or "TIME" for an argument
    std::vector<std::string> values;
    std::optional<Meaning> onCluster; ///< nothing if its definition does not state it
};

/// The named command, with the options and arguments given to it and to its subcommand.
struct GivenCommand {
    const CLI::App* app = nullptr; ///< the subcommand's, if there is one
    std::string name;              ///< "devices"
    std::string subcommand;        ///< "query"; empty if there is none
    std::vector<GivenOption> options;
    Meaning onCluster = aboutThisMachine();

    [[nodiscard]] bool has(std::string_view option) const;
    /// Returns the value of an option, or the last of several values.
    [[nodiscard]] std::optional<std::string> value(std::string_view option) const;
};

/// Returns the first long name of an option, or the name of an argument.
std::string nameOf(const CLI::Option& option);

/// Returns nothing if no command was named.
std::optional<GivenCommand> givenCommand(const CLI::App& app);

} // namespace genv::ctl::cluster
