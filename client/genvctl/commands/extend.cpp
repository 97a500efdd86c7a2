// SPDX-License-Identifier: LGPL-2.1-or-later
// extend: extends the lease of an environment.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/extension.hpp"
#include "core/base/text.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace genv::ctl {

namespace {

struct ExtendArguments {
    std::optional<std::string> lifetime;
    bool hasNoEnd = false;
    std::optional<std::string> id;
};

// Returns the wanted time from now, or nothing to remove the end.
std::optional<std::chrono::seconds> wantedLifetime(const ExtendArguments& arguments) {
    if (arguments.hasNoEnd)
        return std::nullopt;
    return requiredLifetime(arguments.lifetime);
}

} // namespace

constexpr std::array extendExamples{
    Example{"Extend this environment by two hours from now", "genv extend 2h"},
    Example{"Extend environment 4711 as far as allowed", "genvctl extend --id 4711"},
};

void addExtend(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "extend", "Extend the lease of an environment",
                                   {.onCluster = cluster::mapped, .examples = extendExamples});
    const auto arguments = std::make_shared<ExtendArguments>();
    CLI::Option* time =
        addOption(*command, "TIME", arguments->lifetime, "Set the end TIME from now, such as 2h",
                  {.values = ValueKind::Free, .onCluster = cluster::mapped})
            ->type_name("");
    addFlag(*command, "--no-end", arguments->hasNoEnd, "Remove the end of the lease",
            {.onCluster = cluster::refused(
                 "Slurm ends each job at its time limit",
                 "\"genvctl extend --id slurm-JOBID TIME\" extends the time limit.")})
        ->excludes(time);
    addOption(*command, "--id,--eid", arguments->id, "Extend environment ID [default: the shell's]",
              {.values = ValueKind::Environment, .onCluster = cluster::mapped})
        ->type_name("ID");
    command->footer("The command never shortens a lease, and fails if there is no lease.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] {
            const auto lifetime = wantedLifetime(*arguments);
            if (arguments->id) {
                core::requireIdentifier(*arguments->id, "id");
                extendEnvironment(context, *arguments->id, lifetime);
            } else {
                context.inEnvironment(
                    [&](const std::string& id) { extendEnvironment(context, id, lifetime); });
            }
        };
    });
}

} // namespace genv::ctl
