// SPDX-License-Identifier: LGPL-2.1-or-later
// help: prints the help of a command, as its --help does.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "core/base/command_line/usage_error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

namespace genv::ctl {

namespace {

const CLI::App* commandNamed(const CLI::App& parent, const std::string& name) {
    for (const CLI::App* command : parent.get_subcommands([](const CLI::App*) { return true; })) {
        if (command->get_name() == name)
            return command;
    }
    return nullptr;
}

void printHelp(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* command = &app;
    std::string path = app.get_name();
    for (const std::string& word : words) {
        const CLI::App* next = commandNamed(*command, word);
        if (next == nullptr)
            throw core::unknownCommand(word, path);
        command = next;
        path += ' ' + word;
    }
    print(command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal));
}

} // namespace

constexpr std::array helpExamples{
    Example{"Describe a command", "genvctl help attach"},
    Example{"Describe a subcommand", "genvctl help devices find"},
};

void addHelp(CLI::App& app, Context& context, WithCommandLine withCommandLine) {
    CLI::App* command = addCommand(app, "help", "Describe a command", {.examples = helpExamples});
    const auto words = std::make_shared<std::vector<std::string>>();
    addOption(*command, "COMMAND", *words, "Describe this command or subcommand",
              {.values = ValueKind::HelpTopic})
        ->type_name("");
    command->callback([&context, words, withCommandLine = std::move(withCommandLine)] {
        context.command = [words, withCommandLine] {
            withCommandLine([&](const CLI::App& whole) { printHelp(whole, *words); });
        };
    });
}

} // namespace genv::ctl
