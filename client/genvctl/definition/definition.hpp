// SPDX-License-Identifier: LGPL-2.1-or-later
// The definition of the command line. CLI11 keeps the names, the help and the variables of options.
// This adds the traits that completion, clusters and the help need, so that each command and each
// option states all of them in one place.
#pragma once

#include "client/genvctl/definition/cluster_meaning.hpp"
#include "client/genvctl/definition/value_source.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genv::ctl {

/// The facts about an option or argument that CLI11 does not keep. Tests name the options that lack
/// them.
struct OptionTraits {
    std::optional<ValueSource> values = {}; ///< of an option that takes a value
    /// Of an option of a command that works on a cluster.
    std::optional<cluster::Meaning> onCluster = {};
};

/// An example at the end of a command's help. A test parses every line.
struct Example {
    std::string_view description; ///< a verb phrase
    std::string_view line;        ///< the command line
};

/// The facts about a command that CLI11 does not keep.
struct CommandTraits {
    cluster::Meaning onCluster = cluster::aboutThisMachine();
    std::span<const Example> examples = {}; ///< outlives the definition
};

/// The whole command line of a program, with the traits of its commands and options.
class Definition : public CLI::App {
  public:
    using CLI::App::App;

    /// Returns the definition that a command belongs to. Throws std::bad_cast if the topmost
    /// command is another CLI::App.
    static Definition& of(CLI::App& command);
    static const Definition& of(const CLI::App& command);

    /// Keep the traits of a command or an option of this definition, and return it. addCommand(),
    /// addOption() and addFlag() do so; a caller that adds it in another way calls these itself.
    CLI::App* describe(CLI::App* command, CommandTraits traits);
    CLI::Option* describe(CLI::Option* option, OptionTraits traits);

    /// Return empty traits for a command or an option that has none.
    [[nodiscard]] CommandTraits traitsOf(const CLI::App& command) const;
    [[nodiscard]] OptionTraits traitsOf(const CLI::Option& option) const;

    /// Appends the examples to the footers of all commands. Must come last: a command inherits the
    /// footer that its parent has so far.
    void addExamplesToHelp();

  private:
    std::vector<std::pair<CLI::App*, CommandTraits>> commands_;
    std::vector<std::pair<const CLI::Option*, OptionTraits>> options_;
};

/// Adds a command, as CLI11's add_subcommand() does.
CLI::App* addCommand(CLI::App& parent, std::string name, std::string help, CommandTraits traits);

/// Adds an option or argument that takes a value, as CLI11's add_option() does.
template <typename Value>
CLI::Option* addOption(CLI::App& command, std::string names, Value& value, std::string help,
                       OptionTraits traits) {
    return Definition::of(command).describe(
        command.add_option(std::move(names), value, std::move(help)), std::move(traits));
}

/// Adds a flag, as CLI11's add_flag() does.
template <typename Value>
CLI::Option* addFlag(CLI::App& command, std::string names, Value& value, std::string help,
                     OptionTraits traits) {
    return Definition::of(command).describe(
        command.add_flag(std::move(names), value, std::move(help)), std::move(traits));
}

} // namespace genv::ctl
