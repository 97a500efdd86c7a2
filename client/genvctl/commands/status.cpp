// SPDX-License-Identifier: LGPL-2.1-or-later
// status and home: the environment and the folder of this shell.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/options/project.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "core/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

namespace genv::ctl {

namespace {

std::string statusText(const Environment& environment, bool isOverSubscribable) {
    const auto orUnset = [](const std::optional<std::string>& text) {
        return shown(text.value_or("N/A"));
    };
    const std::string devices = environment.devices.empty() ? "No GPU is attached"
                                                            : "Attached to GPUs at indices " +
                                                                  joined(environment.devices, ",");
    const std::string end = environment.expires
                                ? fmt::format("Lease ends: {} ({})\n",
                                              relativeFuture(*environment.expires, currentTime()),
                                              core::nameTime(*environment.expires))
                                : "";
    const std::string lingering =
        environment.lingering
            ? fmt::format("Lingering: no shell is registered any more; {} still {} its GPUs\n",
                          core::nameProcesses(environment.processes),
                          environment.processes.size() == 1 ? "uses" : "use")
            : "";
    return fmt::format("Environment is active ({})\n"
                       "{}\n"
                       "{}{}"
                       "\n"
                       "Configuration\n"
                       "    Name: {}\n"
                       "    GPUs configured: {}\n"
                       "    GPU memory capacity: {}\n"
                       "{}",
                       shown(environment.id), devices, lingering, end,
                       orUnset(fieldText(environment.configuration, Field::Name)),
                       orUnset(fieldText(environment.configuration, Field::Gpus)),
                       orUnset(fieldText(environment.configuration, Field::GpuMemory)),
                       isOverSubscribable ? "    Over-subscribable: yes\n" : "");
}

void status(Context& context) {
    const auto environment = context.activeEnvironment();
    if (!environment) {
        if (!context.printJson({{"active", false}}))
            print("Environment is not active\n");
        return;
    }
    const bool isOverSubscribable = context.client().isOverSubscribable(environment->id);
    const bool printed = context.printJson(
        {{"active", true},
         {"id", environment->id},
         {"lingering", environment->lingering},
         {"devices", environment->devices},
         {"expires", environment->expires ? toJson(*environment->expires) : Json(nullptr)},
         {"over_subscribable", isOverSubscribable},
         {"config", toJson(environment->configuration)}});
    if (!printed)
        print(statusText(*environment, isOverSubscribable));
}

void home(bool quiet) {
    const auto folder = projectFolder();
    if (folder)
        print(shown(folder->string()) + '\n');
    else if (quiet)
        throw Failure(ExitStatus::Failed, "");
    else
        requireProjectFolder();
}

} // namespace

void addStatus(CLI::App& app, Context& context) {
    app.add_subcommand("status", "Show the environment of this shell")->callback([&context] {
        context.command = [&context] { status(context); };
    });
}

void addHome(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("home", "Print the path of the .genv folder in use");
    const auto quiet = std::make_shared<bool>(false);
    command->add_flag("-q,--quiet", *quiet, "Print no error if there is none");
    command->callback([&context, quiet] { context.command = [quiet] { home(*quiet); }; });
}

} // namespace genv::ctl
