// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/command_search.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

bool takesNextWord(const CLI::Option& option) {
    return option.get_items_expected_min() > 0;
}

std::vector<const CLI::App*> below(const CLI::App& command, bool named) {
    return command.get_subcommands(
        [named](const CLI::App* app) { return app->get_name().empty() != named; });
}

std::vector<const CLI::Option*> optionsOf(const CLI::App& command, bool positional) {
    std::vector<const CLI::Option*> options = command.get_options(
        [positional](const CLI::Option* o) { return o->get_positional() == positional; });
    for (const CLI::App* group : below(command, false)) {
        const auto more = optionsOf(*group, positional);
        options.insert(options.end(), more.begin(), more.end());
    }
    return options;
}

const CLI::Option* findOption(const CLI::App* command, const std::string& word) {
    for (; command != nullptr; command = command->get_parent()) {
        for (const CLI::Option* option : optionsOf(*command, false)) {
            if (option->check_name(word))
                return option;
        }
        if (!command->get_fallthrough())
            return nullptr;
    }
    return nullptr;
}

const CLI::App* findCommand(const CLI::App& parent, const std::string& word) {
    for (const CLI::App* command : below(parent, true)) {
        if (command->check_name(word))
            return command;
    }
    return nullptr;
}

} // namespace genv::ctl
