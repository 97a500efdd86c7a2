// SPDX-License-Identifier: LGPL-2.1-or-later
// run: an environment for one command. The command takes the place of genvctl in the same process,
// so that its pid, exit status and signals are its own and the environment ends with it.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/commands/own_environment.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/execution.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace genv::ctl {

void addRun(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("run", "Run a command in an environment of its own");
    const auto options = std::make_shared<OwnEnvironmentOptions>();
    options->addTo(*command);
    command->footer(
        "The environment ends with the command. Without --gpus the command sees no GPU. Also in\n"
        "an active environment the command gets one of its own, with its own GPUs.");
    takeEverythingFromTheCommandOn(*command);
    command->callback([&context, options, command] {
        const std::vector<std::string> words = commandWords(*command);
        context.command = [&context, options, words] {
            enterOwnEnvironment(context, *options);
            execute(words);
        };
    });
}

} // namespace genv::ctl
