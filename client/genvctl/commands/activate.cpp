// SPDX-License-Identifier: LGPL-2.1-or-later
// activate and deactivate: an environment for the calling shell.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/doctor/genv1_leftovers.hpp"
#include "client/genvctl/environment/lingering.hpp"
#include "client/genvctl/environment/requests.hpp"
#include "client/genvctl/options/cluster_refusals.hpp"
#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/options/waiting_options.hpp"
#include "client/genvctl/options/within_options.hpp"
#include "client/genvctl/remote/remote_run.hpp"
#include "client/genvctl/reports/enforcement_report.hpp"
#include "client/genvctl/shell/shims_folder.hpp"
#include "client/genvctl/shell/status_file.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

namespace genv::ctl {

namespace {

namespace names = dbus::contract::error;

constexpr const char* promptPrefix = "(genv) ";
constexpr const char* howToAttach = "\"genv attach --gpus 1\" attaches one";

struct ActivateArguments {
    std::optional<std::string> id;
    ConfigurationOptions configuration;
    DeviceOptions devices;
    bool noPrompt = false;
    bool noAttach = false;
    bool noLoad = false;
    bool overSubscribe = false;
    bool nvmlFilter = false;
    WaitingOptions waiting;
    WithinOptions within;

    void check() const {
        devices.check(configuration.gpus.has_value(), "--gpus");
        if (noAttach && devices.isGiven())
            throw Failure(ExitStatus::Usage,
                          "--no-attach cannot be combined with options that choose GPUs");
    }
};

bool exists(Client& client, const std::string& id) {
    try {
        client.environment(id);
        return true;
    } catch (const Error& error) {
        if (error.name() == names::noSuchEnvironment)
            return false;
        throw;
    }
}

// An invalid .genv folder must not prevent an environment from starting.
Configuration projectConfiguration() {
    try {
        if (const auto folder = projectFolder())
            return loadProject(*folder);
    } catch (const Failure& failure) {
        warn(failure.what(), failure.hint());
    }
    return {};
}

std::string join(Context& context, const std::string& id, std::uint32_t pid) {
    const ActivateOptions options = ActivateOptions().setId(id).setPid(pid);
    return context.authorized([&](Client& client) { return client.activate(options); });
}

std::string startWithout(Context& context, ActivateOptions options, std::uint32_t gpus,
                         const char* why) {
    std::string id = requestEnvironment(context, options.setAttach(false).setWait(false));
    warn(fmt::format("The environment is active without the {} that .genv asks for",
                     core::counted(gpus, "GPU")),
         why);
    return id;
}

// genvd does not know the reservations of genv 1. A user who runs genv 1 by name, or by a script,
// should know that it is installed.
void noteGenv1() {
    if (const auto program = genv1OnPath(SystemPlaces::own()))
        printNoteForPerson(fmt::format(
            "{} is genv 1 and comes first in PATH; see \"genvctl doctor\"", program->string()));
}

// If the command line requests GPUs that are not available, the command fails. If only the
// project's folder requests them, it warns.
std::string start(Context& context, const ActivateArguments& arguments, std::uint32_t pid,
                  const std::optional<std::string>& parent) {
    const Configuration typed = arguments.configuration.read();
    Configuration wanted =
        merged(typed, arguments.noLoad ? Configuration{} : projectConfiguration());
    if (arguments.devices.model && !wanted.gpus)
        wanted.gpus = 1;
    const std::uint32_t gpus = wanted.gpus.value_or(0);
    const bool attaches = !arguments.noAttach && (arguments.devices.areNamed() || gpus > 0);
    ActivateOptions options;
    options.setId(arguments.id)
        .setPid(pid)
        .setName(wanted.name)
        .setGpus(wanted.gpus)
        .setGpuMemoryBytes(wanted.gpuMemoryBytes)
        .setOverSubscribable(arguments.configuration.overSubscribable)
        .setPreemptible(preemptibleKind(arguments.configuration.preemptible))
        .setAttach(attaches)
        .setIndices(arguments.devices.indices)
        .setUuids(arguments.devices.uuids)
        .setOverSubscribe(arguments.overSubscribe)
        .setWithin(parent);
    if (attaches)
        options.setModel(arguments.devices.model);
    arguments.waiting.apply(options);
    options.setWait(options.waits() && attaches);
    const auto activate = [&] { return requestEnvironment(context, options); };
    if (!attaches || typed.gpus || arguments.devices.isGiven())
        return activate();
    try {
        return activate();
    } catch (const ServiceUnavailable&) {
        throw;
    } catch (const Error& error) {
        return startWithout(context, options, gpus, error.what());
    } catch (const Failure& failure) {
        return startWithout(context, options, gpus, failure.what());
    }
}

void activateOnHost(const Context& context, const ActivateArguments& arguments) {
    if (arguments.noAttach)
        throw Failure(ExitStatus::Usage, "--no-attach cannot be combined with --host",
                      "Leave --no-attach out: without --gpus no GPU is attached there.");
    OwnEnvironmentOptions wanted;
    wanted.configuration = arguments.configuration;
    wanted.devices = arguments.devices;
    wanted.overSubscribe = arguments.overSubscribe;
    wanted.nvmlFilter = arguments.nvmlFilter;
    wanted.waiting = arguments.waiting;
    wanted.within = arguments.within;
    runRemotely(context, {wanted, "order", arguments.id, {}, arguments.noPrompt, false});
}

// A shell that inherited an environment from its parent process may activate a nested one. A shell
// is a root process of one environment only.
void requireRoomWithin(const Environment& active, const std::optional<std::string>& parent,
                       std::uint32_t shell) {
    const bool isItsOwn = std::ranges::find(active.processes, shell) != active.processes.end();
    if (parent && !isItsOwn)
        return;
    throw Failure(ExitStatus::Failed, "Already running in an active environment",
                  parent ? "Start another shell, such as with \"bash\", to activate one within it."
                         : "Leave it first with \"genv deactivate\".");
}

// The variables that an activation changes, whatever their values will be.
std::vector<Variable> changedVariables(const ActivateArguments& arguments) {
    std::vector<Variable> variables = environmentVariables({}, {});
    variables.insert(variables.end(), {{"GENV_SHELL", {}}, {"PATH", {}}});
    if (!arguments.noPrompt)
        variables.insert(variables.end(), {{"PS1", {}}, {"GENV_PROMPT", {}}});
    if (arguments.nvmlFilter)
        variables.push_back({"LD_AUDIT", {}});
    return variables;
}

// Whoever mistypes an id gets a new environment in place of the one that exists.
void warnOfNewEnvironment(Context& context, const std::string& id) {
    warn(fmt::format("there was no environment \"{}\": a new one started, without GPUs", id),
         context.otherEnvironmentHint(id).value_or(fmt::format("{}.", howToAttach)));
}

void activate(Context& context, const ActivateArguments& arguments) {
    arguments.check();
    if (context.options.host) {
        activateOnHost(context, arguments);
        return;
    }
    const ShellLink& shell = context.requireShell("activate");
    ShellCode code;
    const auto active = context.activeEnvironment();
    const auto parent = arguments.within.choose(context.client());
    if (active)
        requireRoomWithin(*active, parent, shell.pid);
    else if (namedEnvironment())
        code.leave(shimsFolder());
    if (arguments.id)
        core::requireIdentifier(*arguments.id, "id");
    std::optional<Variable> filter;
    if (arguments.nvmlFilter)
        filter = nvmlFilterVariable();
    context.requireWritable(changedVariables(arguments));

    context.client().listenForNotices(context.uid());
    const bool joins = arguments.id && exists(context.client(), *arguments.id);
    const std::string id = joins ? join(context, *arguments.id, shell.pid)
                                 : start(context, arguments, shell.pid, parent);
    if (joins && (arguments.configuration.isGiven() || arguments.devices.isGiven()))
        warn(fmt::format("Environment {} exists already and stays unchanged", id),
             "\"genv attach\" attaches GPUs to it, \"genv config\" configures it.");

    // Read the status line first, so that the shell treats every later change as new.
    const std::optional<std::string> seen = firstStatusLine(id);
    const Environment environment = context.client().environment(id);
    code.enter(arguments.noPrompt ? "" : promptPrefix, shimsFolder());
    code.set({{"GENV_SHELL", "1"}});
    code.set(environmentVariables(environment,
                                  visibleDevices(context.client(), id, environment.devices)));
    if (filter)
        code.set({*filter});
    if (seen)
        code.watch(*statusFile(id), *seen);
    context.sendToShell(code);
    if (arguments.id && !joins && environment.devices.empty())
        warnOfNewEnvironment(context, id);
    else
        printNoteForPerson(
            environment.devices.empty()
                ? fmt::format("environment {} has no GPU; {}", id, howToAttach)
                : fmt::format("environment {} has {}", id, core::nameGpus(environment.devices)));
    noteGenv1();
    context.warnOfNotices(id);
}

void leave(Context& context, const std::string& id, std::uint32_t pid) {
    try {
        context.authorized([&](Client& client) { client.removeProcess(id, pid); });
    } catch (const Error& error) {
        if (error.name() == names::noSuchProcess)
            throw Failure(ExitStatus::Failed,
                          fmt::format("This shell did not activate environment {}", id),
                          "Leave it with \"exit\", and deactivate in the shell that did.");
        if (error.name() != names::noSuchEnvironment)
            throw;
    }
}

struct DeactivateArguments {
    std::optional<std::string> id;
    bool kill = false;
};

// Ends the processes that keep the environment alive, or warns about them.
void settle(Context& context, const std::string& id, bool kill) {
    if (kill)
        endLingering(context, id);
    else
        warnOfLingering(context.client(), id);
}

// If the environment has already ended, only the shell has to be cleaned up.
void deactivateShell(Context& context, bool kill) {
    const ShellLink& shell = context.requireShell("deactivate");
    const std::string id = Context::currentEnvironment();
    const bool isActive = context.activeEnvironment().has_value();
    if (isActive)
        leave(context, id, shell.pid);
    ShellCode code;
    code.leave(shimsFolder());
    context.sendToShell(code);
    if (isActive)
        settle(context, id, kill);
}

void deactivate(Context& context, const DeactivateArguments& arguments) {
    if (arguments.kill)
        requireTermination("Unset that variable, or leave --kill out.");
    if (!arguments.id) {
        deactivateShell(context, arguments.kill);
        return;
    }
    core::requireIdentifier(*arguments.id, "id");
    context.authorized([&](Client& client) { client.deactivate(*arguments.id); });
    settle(context, *arguments.id, arguments.kill);
}

} // namespace

constexpr std::array activateExamples{
    Example{"Start an environment with two GPUs", "genv activate --gpus 2 --name training"},
    Example{"Use 4 GB of a GPU, and wait for it up to an hour",
            "genv activate --gpus 1 --gpu-memory 4g --wait=1h"},
    Example{"Join an environment in a second terminal", "genv activate --id 4711"},
};

void addActivate(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "activate", "Start or join an environment in this shell",
                                   {.onCluster = cluster::mapped, .examples = activateExamples});
    const auto arguments = std::make_shared<ActivateArguments>();
    addOption(*command, "--id,--eid", arguments->id, "Join environment ID, or start it",
              {.values = ValueKind::OwnEnvironment, .onCluster = noJobIsJoined})
        ->type_name("ID");
    arguments->configuration.addTo(*command);
    arguments->devices.addTo(*command);
    addFlag(*command, "--no-prompt", arguments->noPrompt, "Do not change the prompt",
            {.onCluster = cluster::withoutEffect});
    addFlag(*command, "--no-attach", arguments->noAttach,
            "Attach no GPU, regardless of the configuration", {.onCluster = cluster::mapped});
    addFlag(*command, "--no-load", arguments->noLoad, "Do not load the configuration from .genv",
            {.onCluster = cluster::mapped});
    addFlag(*command, "-o,--over-subscribe", arguments->overSubscribe,
            "Share GPUs that are already attached elsewhere", {.onCluster = slurmSharesNoGpus})
        ->group(gpuOptions);
    addFlag(*command, "--nvml-filter", arguments->nvmlFilter,
            "Limit NVML to the environment's GPUs", {.onCluster = jobsSeeTheirOwnGpus})
        ->group(gpuOptions);
    arguments->waiting.addTo(*command, "End the environment");
    arguments->within.addTo(*command);
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { activate(context, *arguments); };
    });
}

constexpr std::array deactivateExamples{
    Example{"Leave the environment of this shell", "genv deactivate"},
    Example{"End environment 4711 and the processes on its GPUs",
            "genvctl deactivate --id 4711 --kill"},
};

void addDeactivate(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "deactivate", "Leave the environment of this shell",
                                   {.onCluster = cluster::mapped, .examples = deactivateExamples});
    const auto arguments = std::make_shared<DeactivateArguments>();
    addOption(*command, "--id,--eid", arguments->id, "End environment ID, from any shell",
              {.values = ValueKind::Environment, .onCluster = cluster::mapped})
        ->type_name("ID");
    addFlag(*command, "--kill", arguments->kill, "End the processes that still use its GPUs",
            {.onCluster = cluster::withoutEffect});
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { deactivate(context, *arguments); };
    });
}

} // namespace genv::ctl
