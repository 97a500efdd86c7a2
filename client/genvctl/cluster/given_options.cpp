// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/given_options.hpp"

#include "client/genvctl/definition/definition.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace genv::ctl::cluster {

namespace {

void addGiven(const CLI::App& command, std::vector<GivenOption>& options) {
    const Definition& definition = Definition::of(command);
    for (const CLI::Option* option : command.get_options()) {
        if (option->count() > 0)
            options.push_back(
                {nameOf(*option), option->results(), definition.traitsOf(*option).onCluster});
    }
}

const GivenOption* find(const std::vector<GivenOption>& options, std::string_view name) {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const GivenOption& option) { return option.name == name; });
    return found == options.end() ? nullptr : &*found;
}

} // namespace

bool GivenCommand::has(std::string_view option) const {
    return find(options, option) != nullptr;
}

std::optional<std::string> GivenCommand::value(std::string_view option) const {
    const GivenOption* found = find(options, option);
    if (found == nullptr || found->values.empty())
        return std::nullopt;
    return found->values.back();
}

std::string nameOf(const CLI::Option& option) {
    if (option.get_positional())
        return option.get_name(true, false);
    return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

std::optional<GivenCommand> givenCommand(const CLI::App& app) {
    const auto commands = app.get_subcommands();
    if (commands.empty())
        return std::nullopt;
    GivenCommand given;
    given.app = commands.front();
    given.name = given.app->get_name();
    addGiven(*given.app, given.options);
    if (const auto below = given.app->get_subcommands(); !below.empty()) {
        given.app = below.front();
        given.subcommand = given.app->get_name();
        addGiven(*given.app, given.options);
    }
    given.onCluster = Definition::of(app).traitsOf(*given.app).onCluster;
    return given;
}

} // namespace genv::ctl::cluster
