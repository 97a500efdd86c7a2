// SPDX-License-Identifier: LGPL-2.1-or-later
// envs: lists the environments of all users, and lets owners and administrators change them.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/found.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/environment/lingering.hpp"
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
#include <map>
#include <memory>

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

void addQueryEnvironments(CLI::App& envs, Context& context) {
    CLI::App* command =
        envs.add_subcommand("query", "Print chosen columns, one line per environment");
    const auto id = std::make_shared<std::optional<std::string>>();
    const auto query = std::make_shared<QueryOption>();
    command->add_option("--id,--eid", *id, "Print only environment ID")->type_name("ID");
    query->addTo(*command, {"eid", "creation", "uid", "username", "config.name", "config.gpus",
                            "config.gpu_memory", "pids", "kernel_ids"});
    command->callback([&context, id, query] {
        context.command = [&context, id, query] {
            query->print(queried(context.client(), *id), environmentCell);
        };
    });
}

void addFindEnvironment(CLI::App& envs, Context& context) {
    CLI::App* command = envs.add_subcommand("find", "Print the environment of a process or kernel");
    const auto pid = std::make_shared<std::optional<std::uint32_t>>();
    const auto kernel = std::make_shared<std::optional<std::string>>();
    CLI::Option* process =
        command->add_option("--pid", *pid, "Find the environment of process PID")->type_name("PID");
    command->add_option("--kernel-id", *kernel, "Find the environment of Jupyter kernel ID")
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

void addAdministrativeActivate(CLI::App& envs, Context& context) {
    CLI::App* command =
        envs.add_subcommand("activate", "Start an environment for a user, or add to it");
    const auto arguments = std::make_shared<AdministrativeActivateArguments>();
    command->add_option("--id,--eid", arguments->id, "Select environment ID")
        ->required()
        ->type_name("ID");
    command->add_option("--uid", arguments->uid, "Set the owner")->required()->type_name("UID");
    // The service reads the name from the user database.
    command->add_option("--username", "Ignore, for compatibility with genv 1")->type_name("NAME");
    CLI::Option* process = command
                               ->add_option("--pid", arguments->pid,
                                            "Keep the environment as long as process PID runs")
                               ->type_name("PID");
    command
        ->add_option("--kernel-id", arguments->kernel,
                     "Keep the environment as long as kernel ID runs")
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

void addAdministrativeDeactivate(CLI::App& envs, Context& context) {
    CLI::App* command = envs.add_subcommand("deactivate", "Remove a process from its environment");
    const auto pid = std::make_shared<std::uint32_t>();
    command->add_option("--pid", *pid, "Remove process PID")->required()->type_name("PID");
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

void addConfigure(CLI::App& envs, Context& context) {
    CLI::App* command = envs.add_subcommand("config", "Change the configuration of an environment");
    const auto arguments = std::make_shared<EnvsConfigArguments>();
    command->add_option("--id,--eid", arguments->id, "Select environment ID")
        ->required()
        ->type_name("ID");
    command->add_flag("--clear", arguments->clear, "Unset all fields");
    arguments->consent.addTo(*command);
    const auto addField = [&](Field field, const char* option, const char* type) {
        CLI::App* one = command->add_subcommand(
            fieldName(field), fmt::format("Change the field {}", fieldName(field)));
        CLI::Option* clear = one->add_flag("--clear", arguments->clear, "Unset the field");
        one->add_option(option, arguments->value, "Set the field")
            ->type_name(type)
            ->excludes(clear);
        one->callback([arguments, field] { arguments->field = field; });
    };
    addField(Field::Gpus, "--count", "N");
    addField(Field::Name, "--name", "NAME");
    addField(Field::GpuMemory, "--gpu-memory", "AMOUNT");
    command->require_subcommand(0, 1);
    command->callback([&context, arguments] {
        if (!arguments->isValid())
            throw CLI::RequiredError(
                "--clear, --allow-over-subscribe, or one of gpus, name and gpu-memory,");
        context.command = [&context, arguments] { configure(context, *arguments); };
    });
}

} // namespace

void addEnvs(CLI::App& app, Context& context) {
    CLI::App* envs = app.add_subcommand("envs", "List environments and their users");
    const auto options = std::make_shared<ListingOptions>();
    const auto reset = std::make_shared<bool>(false);
    options->addTo(*envs);
    options->addWideTo(*envs);
    envs->add_flag_callback(
        "--no-cleanup", [] {}, "Ignore, for compatibility with genv 1");
    envs->add_flag("--reset", *reset, "End the environments of all users");
    envs->require_subcommand(0, 1);

    CLI::App* table = envs->add_subcommand("ps", "List environments and their users");
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
