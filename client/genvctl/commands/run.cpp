// SPDX-License-Identifier: LGPL-2.1-or-later
// run: an environment for a command, for a new shell, or for a program on another machine. A
// command or shell replaces genvctl in the same process. It therefore keeps the PID, its exit
// status and signals are its own, and the environment ends with it.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/command_watch.hpp"
#include "client/genvctl/environment/holding.hpp"
#include "client/genvctl/environment/own_environment.hpp"
#include "client/genvctl/options/cluster_refusals.hpp"
#include "client/genvctl/remote/remote_run.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "client/genvctl/shell/login_shell.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <array>
#include <memory>

namespace genv::ctl {

namespace {

struct RunArguments {
    OwnEnvironmentOptions wanted;
    std::optional<std::string> id;
    std::optional<std::uint32_t> predecessor;
    bool login = false;
    bool noPrompt = false;
    bool hold = false;
    bool detach = false; ///< see jobs/detached_run.hpp

    void check() const {
        if (login && hold)
            throw Failure(ExitStatus::Usage, "--login and --hold cannot be combined");
        if (noPrompt && !login)
            throw Failure(ExitStatus::Usage, "--no-prompt requires --login");
        if (id && hold)
            throw Failure(ExitStatus::Usage, "--hold and --id cannot be combined");
        if (predecessor && !id)
            throw Failure(ExitStatus::Usage, "--take-over requires --id");
        if (id && wanted.isGiven())
            throw Failure(ExitStatus::Usage,
                          "--id cannot be combined with options that request GPUs",
                          "Attach GPUs to that environment with \"genv attach\".");
    }
};

void enter(Context& context, const RunArguments& arguments) {
    std::optional<StartedEnvironment> started;
    if (arguments.id)
        joinEnvironment(context, *arguments.id, arguments.predecessor);
    else
        started = startOwnEnvironment(context, arguments.wanted);
    const std::string& id = started ? started->id : *arguments.id;
    if (arguments.login)
        LoginShell{id, arguments.noPrompt, arguments.wanted.nvmlFilter}.run(context.client());
    if (started)
        setOwnVariables(context.client(), *started, arguments.wanted.nvmlFilter);
    else
        setOwnVariables(context.client(), id, arguments.wanted.nvmlFilter);
    watchCommand(id);
}

void runOnHost(const Context& context, const RunArguments& arguments,
               const std::vector<std::string>& words) {
    if (arguments.hold || arguments.predecessor)
        throw Failure(ExitStatus::Usage, "--hold cannot be combined with --host",
                      "Run it on the other machine with ssh.");
    runRemotely(context,
                {arguments.wanted, "order", arguments.id, words, arguments.noPrompt, false});
}

void run(Context& context, const RunArguments& arguments, const std::vector<std::string>& words) {
    arguments.check();
    if (context.options.host) {
        runOnHost(context, arguments, words);
        return;
    }
    if (arguments.hold) {
        holdEnvironment(context, arguments.wanted);
        return;
    }
    enter(context, arguments);
    ctl::execute(words);
}

void addOptions(CLI::App& command, RunArguments& arguments) {
    addOption(command, "--id,--eid", arguments.id, "Join environment ID instead of starting one",
              {.values = ValueKind::OwnEnvironment, .onCluster = noJobIsJoined})
        ->type_name("ID");
    arguments.wanted.addTo(command);
    arguments.wanted.devices.addNamesTo(command);
    arguments.wanted.within.addTo(command);
    addFlag(command, "--login", arguments.login, "Run your login shell instead of a command",
            {.onCluster = cluster::mapped});
    addFlag(command, "--no-prompt", arguments.noPrompt,
            "Do not change the prompt of the login shell", {.onCluster = cluster::withoutEffect});
    addFlag(command, "--hold", arguments.hold,
            "Hold the GPUs until standard input ends; run nothing",
            {.onCluster = cluster::aboutThisMachine()});
    addFlag(command, "--detach", arguments.detach,
            "Submit the command as a job, as \"submit\" does",
            {.onCluster =
                 cluster::refused("it must come before the command",
                                  "\"genvctl run --detach --gpus N -- COMMAND\" submits a job.")});
    // Used by "remote": the process that holds the environment and now leaves it.
    addOption(command, "--take-over", arguments.predecessor, "",
              {.onCluster = cluster::aboutThisMachine()})
        ->group("");
}

} // namespace

constexpr std::array runExamples{
    Example{"Run a program with two GPUs",
            "genvctl run --gpus 2 --name training -- python train.py"},
    Example{"Wait for a GPU and use it for at most eight hours",
            "genvctl run --gpus 1 --wait --lifetime 8h -- ./night.sh"},
    Example{"Open a shell with a GPU on another machine",
            "genvctl -H alice@gpu1 run --gpus 1 --login"},
};

void addRun(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "run", "Run a command in its own environment",
                                   {.onCluster = cluster::mapped, .examples = runExamples});
    const auto arguments = std::make_shared<RunArguments>();
    addOptions(*command, *arguments);
    command->footer(
        "The environment ends with the command. The command gets one GPU, or as many as\n"
        "your own .genv says; --gpus 0 means none, and so does a Slurm job. In an active\n"
        "environment the command still gets its own environment and its own GPUs. With\n"
        "--within, and in a Slurm job, these are GPUs of the environment or the job.\n"
        "\n"
        "Exits with the command's status, 126 if it cannot be run, or 127 if it is not\n"
        "found.");
    takeEverythingFromTheCommandOn(*command);
    command->callback([&context, arguments, command] {
        const bool needsNone = arguments->login || arguments->hold;
        const std::vector<std::string> words =
            needsNone ? noCommandWords(*command) : commandWords(*command);
        arguments->wanted.meansOneGpu = !needsNone && !arguments->id;
        context.command = [&context, arguments, words] { run(context, *arguments, words); };
    });
}

} // namespace genv::ctl
