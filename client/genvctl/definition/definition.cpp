// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/definition/definition.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::ctl {

namespace {

template <typename Described, typename Traits>
Traits traitsIn(const std::vector<std::pair<Described*, Traits>>& all, const void* described) {
    const auto found =
        std::ranges::find_if(all, [&](const auto& entry) { return entry.first == described; });
    return found == all.end() ? Traits() : found->second;
}

std::string examplesText(std::span<const Example> examples) {
    std::string text = "Examples:";
    for (const Example& example : examples)
        text += fmt::format("\n  # {}\n  {}", example.description, example.line);
    return text;
}

} // namespace

Definition& Definition::of(CLI::App& command) {
    CLI::App* parent = command.get_parent();
    return parent != nullptr ? of(*parent) : dynamic_cast<Definition&>(command);
}

const Definition& Definition::of(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return parent != nullptr ? of(*parent) : dynamic_cast<const Definition&>(command);
}

CLI::App* Definition::describe(CLI::App* command, CommandTraits traits) {
    commands_.emplace_back(command, traits);
    return command;
}

CLI::Option* Definition::describe(CLI::Option* option, OptionTraits traits) {
    options_.emplace_back(option, std::move(traits));
    return option;
}

CommandTraits Definition::traitsOf(const CLI::App& command) const {
    return traitsIn(commands_, &command);
}

OptionTraits Definition::traitsOf(const CLI::Option& option) const {
    return traitsIn(options_, &option);
}

void Definition::addExamplesToHelp() {
    for (const auto& [command, traits] : commands_) {
        if (traits.examples.empty())
            continue;
        const std::string notes = command->get_footer();
        command->footer(notes + (notes.empty() ? "" : "\n\n") + examplesText(traits.examples));
    }
}

CLI::App* addCommand(CLI::App& parent, std::string name, std::string help, CommandTraits traits) {
    return Definition::of(parent).describe(parent.add_subcommand(std::move(name), std::move(help)),
                                           traits);
}

} // namespace genv::ctl
