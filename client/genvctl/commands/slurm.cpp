// SPDX-License-Identifier: LGPL-2.1-or-later
// slurm: the hooks that a node's slurm.conf names as Prolog, Epilog and TaskProlog.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/slurm/hooks.hpp"

#include <CLI/CLI.hpp>

namespace genv::ctl {

namespace {

struct Hook {
    const char* name;
    const char* help;
    void (*run)(const SlurmVariables& variables);
};

void addHook(CLI::App& slurm, Context& context, const Hook& hook) {
    CLI::App* command = slurm.add_subcommand(hook.name, hook.help);
    // A mistake in slurm.conf must not drain the node: unknown options stay with this command.
    command->fallthrough(false);
    command->allow_extras();
    command->footer(
        "slurmd runs this command. The exit status is always 0; errors are in the log.");
    command->callback(
        [&context, hook] { context.command = [hook] { runSlurmHook(hook.name, hook.run); }; });
}

} // namespace

void addSlurm(CLI::App& app, Context& context) {
    CLI::App* slurm = app.add_subcommand("slurm", "Manage the environment of a Slurm job");
    slurm->require_subcommand(1);
    addHook(*slurm, context, {"prolog", "Start the environment of a Slurm job", runSlurmProlog});
    addHook(*slurm, context, {"epilog", "End the environment of a Slurm job", runSlurmEpilog});
    addHook(*slurm, context,
            {"task-prolog", "Print the variables for a task of a Slurm job", runSlurmTaskProlog});
    slurm->footer("The scripts in " GENV_SLURM_FOLDER ", which\n"
                  "slurm.conf names, run these commands.");
}

} // namespace genv::ctl
