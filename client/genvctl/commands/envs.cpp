// SPDX-License-Identifier: LGPL-2.1-or-later
// envs: lists the environments of all users, and lets owners and administrators change them.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/found.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/environment/lingering.hpp"
#include "client/genvctl/options/cluster_refusals.hpp"
#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/options/project.hpp"
#include "client/genvctl/reports/compute_processes.hpp"
#include "client/genvctl/reports/environment_table.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>

namespace genv::ctl {

namespace {

void printEnvironments(Context& context, const ListingOptions& options) {
    if (context.options.json != JsonMode::Off) {
        printJson(context.options, MachineObjects(readAnswers(context.client())).environments());
        return;
    }
    EnvironmentList list;
    list.entries = context.client().environments();
    // The table for programs shows neither details nor parents.
    if (options.format != "csv" || options.showsExtras()) {
        const auto environments = context.client().machine().environments;
        for (const Environment& environment : environments)
            list.details.emplace(environment.id, environment);
        if (options.format != "csv") {
            list.parents = parentsIn(environments);
            list.loans = loanStates(context.client(), environments);
        }
    }
    if (options.showsExtras() && !list.entries.empty()) {
        if (const auto processes = processesOrNote(context.client()))
            list.memory = memoryInUse(*processes);
    }
    options.print(context.options, environmentTable(list, options, currentTime()));
}

std::string environmentCell(const Environment& environment, const std::string& name) {
    const auto field = [&](Field which) {
        return fieldText(environment.configuration, which).value_or("");
    };
    if (name == "eid")
        return environment.id;
    if (name == "creation")
        return timestamp(environment.created);
    if (name == "uid")
        return std::to_string(environment.uid);
    if (name == "username")
        return environment.user;
    if (name == "config.name")
        return field(Field::Name);
    if (name == "config.gpus")
        return field(Field::Gpus);
    if (name == "config.gpu_memory")
        return field(Field::GpuMemory);
    if (name == "pids")
        return joined(environment.processes, " ");
    return joined(environment.kernels, " ");
}

std::optional<std::string> environmentOfJupyterKernel(Client& client, const std::string& kernel) {
    for (const Environment& environment : client.machine().environments) {
        if (std::find(environment.kernels.begin(), environment.kernels.end(), kernel) !=
            environment.kernels.end())
            return environment.id;
    }
    return std::nullopt;
}

// Programs of genv 1 pass processes and Jupyter kernels that may have no environment, and treat a
// failure as a defect.
void findEnvironment(Context& context, std::optional<std::uint32_t> pid,
                     const std::optional<std::string>& kernel) {
    const auto found =
        pid ? foundOrNothing([&] { return context.client().environmentOfProcess(*pid); })
            : environmentOfJupyterKernel(context.client(), *kernel);
    if (printJson(context.options, {{"eid", orNull(found)}}))
        return;
    if (found)
        print(shown(*found) + '\n');
}

std::vector<Environment> queried(Client& client, const std::optional<std::string>& id) {
    if (!id)
        return client.machine().environments;
    auto found = foundOrNothing([&] { return client.environment(*id); });
    return found ? std::vector{*std::move(found)} : std::vector<Environment>{};
}

void deactivateEverybody(Context& context) {
    for (const EnvironmentEntry& entry : context.client().environments()) {
        context.authorized([&](Client& client) { client.deactivate(entry.id); });
        print(fmt::format("Environment {} of {} was ended\n", shown(entry.id), shown(entry.user)));
    }
}

constexpr std::array envsQueryExamples{
    Example{"Print the ID and user of each environment", "genvctl envs query --query eid username"},
};

void addQueryEnvironments(CLI::App& envs, Context& context) {
    CLI::App* command =
        addCommand(envs, "query", "Print chosen columns, one line per environment",
                   {.onCluster = cluster::refused(
                        isAboutOneMachine, "\"genvctl envs --json\" has the jobs of the cluster."),
                    .examples = envsQueryExamples});
    const auto id = std::make_shared<std::optional<std::string>>();
    const auto query = std::make_shared<QueryOption>();
    addOption(*command, "--id,--eid", *id, "Print only environment ID",
              {.values = ValueKind::Environment})
        ->type_name("ID");
    query->addTo(*command, {"eid", "creation", "uid", "username", "config.name", "config.gpus",
                            "config.gpu_memory", "pids", "kernel_ids"});
    command->callback([&context, id, query] {
        context.command = [&context, id, query] {
            query->print(queried(context.client(), *id), environmentCell);
        };
    });
}

constexpr std::array envsFindExamples{
    Example{"Print the environment of process 4711", "genvctl envs find --pid 4711"},
};

void addFindEnvironment(CLI::App& envs, Context& context) {
    CLI::App* command = addCommand(
        envs, "find", "Print the environment of a process or kernel",
        {.onCluster = cluster::refused(isAboutOneMachine, "Run it on the node of the job."),
         .examples = envsFindExamples});
    const auto pid = std::make_shared<std::optional<std::uint32_t>>();
    const auto kernel = std::make_shared<std::optional<std::string>>();
    CLI::Option* process = addOption(*command, "--pid", *pid, "Find the environment of process PID",
                                     {.values = ValueKind::RootProcess})
                               ->type_name("PID");
    addOption(*command, "--kernel-id", *kernel, "Find the environment of Jupyter kernel ID",
              {.values = ValueKind::Free})
        ->type_name("ID")
        ->excludes(process);
    command->callback([&context, pid, kernel] {
        if (!*pid && !*kernel)
            throw CLI::RequiredError("--pid or --kernel-id");
        context.command = [&context, pid, kernel] { findEnvironment(context, *pid, *kernel); };
    });
}

struct AdministrativeActivateArguments {
    std::string id;
    std::uint32_t uid = 0;
    std::optional<std::uint32_t> pid;
    std::optional<std::string> kernel;
};

constexpr std::array envsActivateExamples{
    Example{"Start environment 58 for user 1001",
            "genvctl envs activate --eid 58 --uid 1001 --pid 4711"},
};

void addAdministrativeActivate(CLI::App& envs, Context& context) {
    CLI::App* command = addCommand(
        envs, "activate", "Start an environment for a user, or add to it",
        {.onCluster = cluster::refused(slurmDecides, "\"genv activate --gpus N\" starts a job."),
         .examples = envsActivateExamples});
    const auto arguments = std::make_shared<AdministrativeActivateArguments>();
    addOption(*command, "--id,--eid", arguments->id, "Select environment ID",
              {.values = ValueKind::Environment})
        ->required()
        ->type_name("ID");
    addOption(*command, "--uid", arguments->uid, "Set the owner", {.values = ValueKind::Uid})
        ->required()
        ->type_name("UID");
    // The service reads the name from the user database.
    Definition::of(*command)
        .describe(command->add_option("--username", "Ignore, for compatibility with genv 1"),
                  {.values = ValueKind::User})
        ->type_name("NAME");
    CLI::Option* process =
        addOption(*command, "--pid", arguments->pid,
                  "Keep the environment as long as process PID runs", {.values = ValueKind::Free})
            ->type_name("PID");
    addOption(*command, "--kernel-id", arguments->kernel,
              "Keep the environment as long as kernel ID runs", {.values = ValueKind::Free})
        ->type_name("ID")
        ->excludes(process);
    command->callback([&context, arguments] {
        if (!arguments->pid && !arguments->kernel)
            throw CLI::RequiredError("--pid or --kernel-id");
        context.command = [&context, arguments] {
            const ActivateOptions options = ActivateOptions()
                                                .setId(arguments->id)
                                                .setUid(arguments->uid)
                                                .setPid(arguments->pid)
                                                .setKernel(arguments->kernel);
            context.authorized([&](Client& client) { client.activate(options); });
        };
    });
}

constexpr std::array envsDeactivateExamples{
    Example{"Remove process 4711 from its environment", "genvctl envs deactivate --pid 4711"},
};

void addAdministrativeDeactivate(CLI::App& envs, Context& context) {
    CLI::App* command = addCommand(
        envs, "deactivate", "Remove a process from its environment",
        {.onCluster = cluster::refused("it is about processes of one machine",
                                       "\"genvctl deactivate --id slurm-JOBID\" ends a job."),
         .examples = envsDeactivateExamples});
    const auto pid = std::make_shared<std::uint32_t>();
    addOption(*command, "--pid", *pid, "Remove process PID", {.values = ValueKind::RootProcess})
        ->required()
        ->type_name("PID");
    command->callback([&context, pid] {
        context.command = [&context, pid] {
            const std::string id = context.client().environmentOfProcess(*pid);
            context.authorized([&](Client& client) { client.removeProcess(id, *pid); });
            warnOfLingering(context.client(), id);
        };
    });
}

struct EnvsConfigArguments {
    std::string id;
    std::optional<Field> field; ///< unset for all fields
    std::optional<std::string> value;
    ConsentOptions consent;
    bool clear = false;

    [[nodiscard]] bool isValid() const {
        return clear != value.has_value() || (consent.setting() && !clear && !value);
    }
};

void clearField(ConfigurationChange& change, Field field) {
    switch (field) {
    case Field::Name:
        change.setName({});
        return;
    case Field::Gpus:
        change.setGpus({});
        return;
    case Field::GpuMemory:
        change.setGpuMemoryBytes({});
        return;
    }
}

void configure(Context& context, const EnvsConfigArguments& arguments) {
    ConfigurationChange change;
    if (const auto allowed = arguments.consent.setting())
        change.setOverSubscribable(*allowed);
    else if (arguments.clear && !arguments.field &&
             context.client().environment(arguments.id).overSubscribable)
        change.setOverSubscribable(false);
    if (arguments.clear) {
        for (const Field field : allFields) {
            if (!arguments.field || field == *arguments.field)
                clearField(change, field);
        }
    } else if (arguments.value) {
        Configuration wanted;
        setField(wanted, *arguments.field, *arguments.value);
        if (wanted.name)
            change.setName(wanted.name);
        if (wanted.gpus)
            change.setGpus(wanted.gpus);
        if (wanted.gpuMemoryBytes)
            change.setGpuMemoryBytes(wanted.gpuMemoryBytes);
    }
    context.authorized([&](Client& client) { client.configure(arguments.id, change); });
}

constexpr std::array envsConfigGpusExamples{
    Example{"Set the number of GPUs", "genvctl envs config --id 4711 gpus --count 2"},
    Example{"Unset it", "genvctl envs config --id 4711 gpus --clear"},
};

constexpr std::array envsConfigNameExamples{
    Example{"Set the name", "genvctl envs config --id 4711 name --name training"},
};

constexpr std::array envsConfigMemoryExamples{
    Example{"Set the share of each GPU's memory",
            "genvctl envs config --id 4711 gpu-memory --gpu-memory 4g"},
};

constexpr std::array envsConfigExamples{
    Example{"Unset the whole configuration", "genvctl envs config --id 4711 --clear"},
    Example{"Set the number of GPUs", "genvctl envs config --id 4711 gpus --count 2"},
};

void addConfigure(CLI::App& envs, Context& context) {
    CLI::App* command =
        addCommand(envs, "config", "Change the configuration of an environment",
                   {.onCluster = cluster::refused("only Slurm changes a job",
                                                  "\"scontrol update JobId=JOBID\" changes one."),
                    .examples = envsConfigExamples});
    const auto arguments = std::make_shared<EnvsConfigArguments>();
    addOption(*command, "--id,--eid", arguments->id, "Select environment ID",
              {.values = ValueKind::Environment})
        ->required()
        ->type_name("ID");
    command->add_flag("--clear", arguments->clear, "Unset all fields");
    arguments->consent.addTo(*command);
    const auto addField = [&](Field field, const char* option, ValueKind values, const char* type,
                              std::span<const Example> examples) {
        CLI::App* one = addCommand(*command, fieldName(field),
                                   fmt::format("Change the field {}", fieldName(field)),
                                   {.examples = examples});
        CLI::Option* clear = one->add_flag("--clear", arguments->clear, "Unset the field");
        addOption(*one, option, arguments->value, "Set the field", {.values = values})
            ->type_name(type)
            ->excludes(clear);
        one->callback([arguments, field] { arguments->field = field; });
    };
    addField(Field::Gpus, "--count", ValueKind::DeviceCount, "N", envsConfigGpusExamples);
    addField(Field::Name, "--name", ValueKind::Free, "NAME", envsConfigNameExamples);
    addField(Field::GpuMemory, "--gpu-memory", ValueKind::Free, "AMOUNT", envsConfigMemoryExamples);
    command->require_subcommand(0, 1);
    command->callback([&context, arguments] {
        if (!arguments->isValid())
            throw CLI::RequiredError(
                "--clear, --allow-over-subscribe, or one of gpus, name and gpu-memory,");
        context.command = [&context, arguments] { configure(context, *arguments); };
    });
}

} // namespace

constexpr std::array envsExamples{
    Example{"List all environments", "genvctl envs"},
    Example{"List them with exact times", "genvctl envs --timestamp"},
};

constexpr std::array envsPsExamples{
    Example{"List all environments as CSV", "genvctl envs ps --format csv"},
};

void addEnvs(CLI::App& app, Context& context) {
    CLI::App* envs = addCommand(app, "envs", "List environments and their users",
                                {.onCluster = cluster::mapped, .examples = envsExamples});
    const auto options = std::make_shared<ListingOptions>();
    const auto reset = std::make_shared<bool>(false);
    options->addTo(*envs);
    options->addWideTo(*envs);
    Definition::of(*envs).describe(
        envs->add_flag_callback(
            "--no-cleanup", [] {}, "Ignore, for compatibility with genv 1"),
        {.onCluster = cluster::withoutEffect});
    addFlag(*envs, "--reset", *reset, "End the environments of all users",
            {.onCluster = endsJobsOfAll});
    envs->require_subcommand(0, 1);

    CLI::App* table = addCommand(*envs, "ps", "List environments and their users",
                                 {.onCluster = cluster::mapped, .examples = envsPsExamples});
    options->addTo(*table);
    options->addWideTo(*table);
    addQueryEnvironments(*envs, context);
    addFindEnvironment(*envs, context);
    addAdministrativeActivate(*envs, context);
    addAdministrativeDeactivate(*envs, context);
    addConfigure(*envs, context);

    // The callbacks of subcommands run after this one and take precedence; ps has no callback.
    envs->parse_complete_callback([&context, options, reset] {
        context.command = [&context, options, reset] {
            if (*reset)
                deactivateEverybody(context);
            else
                printEnvironments(context, *options);
        };
    });
}

} // namespace genv::ctl
