// SPDX-License-Identifier: LGPL-2.1-or-later
// slurm: what a node's slurm.conf names as Prolog, Epilog and TaskProlog.
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
    // A mistake in slurm.conf must not drain the node: what the command does not know stays here.
    command->fallthrough(false);
    command->allow_extras();
    command->footer("slurmd runs it. The exit status is always 0; what went wrong is in the log.");
    command->callback(
        [&context, hook] { context.command = [hook] { runSlurmHook(hook.name, hook.run); }; });
}

} // namespace

void addSlurm(CLI::App& app, Context& context) {
    CLI::App* slurm = app.add_subcommand("slurm", "Make the GPUs of a Slurm job an environment");
    slurm->require_subcommand(1);
    addHook(*slurm, context, {"prolog", "Start the environment of a Slurm job", runSlurmProlog});
    addHook(*slurm, context, {"epilog", "End the environment of a Slurm job", runSlurmEpilog});
    addHook(*slurm, context,
            {"task-prolog", "Print the variables of a Slurm job's task", runSlurmTaskProlog});
    slurm->footer("slurm.conf names the scripts in " GENV_SLURM_FOLDER ", which run\n"
                  "these commands.");
}

} // namespace genv::ctl
