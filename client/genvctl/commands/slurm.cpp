// SPDX-License-Identifier: LGPL-2.1-or-later
// slurm: the hooks that a node's slurm.conf names as Prolog, Epilog and TaskProlog.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/slurm/hooks.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <span>

namespace genv::ctl {

namespace {

constexpr std::array prologExamples{
    Example{"Start the environment of a job in a prolog script", "genvctl slurm prolog"},
};

constexpr std::array epilogExamples{
    Example{"End the environment of a job in an epilog script", "genvctl slurm epilog"},
};

constexpr std::array taskPrologExamples{
    Example{"Set a task's variables in a task prolog script", "genvctl slurm task-prolog"},
};

struct Hook {
    const char* name;
    const char* help;
    void (*run)(const SlurmVariables& variables);
    std::span<const Example> examples;
};

void addHook(CLI::App& slurm, Context& context, const Hook& hook) {
    CLI::App* command = addCommand(slurm, hook.name, hook.help, {.examples = hook.examples});
    // A mistake in slurm.conf must not drain the node: unknown options stay with this command.
    command->fallthrough(false);
    command->allow_extras();
    command->footer(
        "slurmd runs this command. The exit status is always 0; errors are in the log.");
    command->callback(
        [&context, hook] { context.command = [hook] { runSlurmHook(hook.name, hook.run); }; });
}

} // namespace

constexpr std::array slurmExamples{
    Example{"Start the environment of a job in a prolog script", "genvctl slurm prolog"},
};

void addSlurm(CLI::App& app, Context& context) {
    CLI::App* slurm = addCommand(app, "slurm", "Manage the environment of a Slurm job",
                                 {.examples = slurmExamples});
    slurm->require_subcommand(1);
    addHook(*slurm, context,
            {"prolog", "Start the environment of a Slurm job", runSlurmProlog, prologExamples});
    addHook(*slurm, context,
            {"epilog", "End the environment of a Slurm job", runSlurmEpilog, epilogExamples});
    addHook(*slurm, context,
            {"task-prolog", "Print the variables for a task of a Slurm job", runSlurmTaskProlog,
             taskPrologExamples});
    slurm->footer("The scripts in " GENV_SLURM_FOLDER ", which\n"
                  "slurm.conf names, run these commands.");
}

} // namespace genv::ctl
