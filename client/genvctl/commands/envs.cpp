// SPDX-License-Identifier: LGPL-2.1-or-later
// envs: who runs which environment, for everybody; and changing that, for owners and
// administrators.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/found.hpp"
#include "client/genvctl/common/parents.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/environment/lingering.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/options/project.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

namespace genv::ctl {

namespace {

// In their order, but each after the one that it is within.
std::vector<EnvironmentEntry> asTree(const std::vector<EnvironmentEntry>& entries,
                                     const Parents& parents) {
    if (parents.empty())
        return entries;
    std::set<std::string> known;
    for (const EnvironmentEntry& entry : entries)
        known.insert(entry.id);
    std::map<std::string, std::vector<EnvironmentEntry>> children;
    std::vector<EnvironmentEntry> roots;
    for (const EnvironmentEntry& entry : entries) {
        const auto parent = parentOf(parents, entry.id);
        (parent && known.contains(*parent) ? children[*parent] : roots).push_back(entry);
    }
    std::vector<EnvironmentEntry> tree;
    for (const EnvironmentEntry& entry : roots) {
        tree.push_back(entry);
        if (const auto within = children.find(entry.id); within != children.end())
            tree.insert(tree.end(), within->second.begin(), within->second.end());
    }
    return tree;
}

Json environmentsJson(const std::vector<Environment>& all, const Parents& parents) {
    Json environments = Json::array();
    for (const Environment& environment : all)
        environments.push_back({{"id", environment.id},
                                {"uid", environment.uid},
                                {"user", environment.user},
                                {"name", orNull(environment.configuration.name)},
                                {"created", toJson(environment.created)},
                                {"lingering", environment.lingering},
                                {"pids", environment.processes},
                                {"kernels", environment.kernels},
                                {"parent", orNull(parentOf(parents, environment.id))}});
    return environments;
}

using KernelsById = std::map<std::string, std::vector<std::string>>;

// The kernels of each environment. The list itself has none, so they are looked up only where an
// environment has no process.
KernelsById kernelsOf(Context& context, const std::vector<EnvironmentEntry>& entries) {
    KernelsById kernels;
    if (std::all_of(entries.begin(), entries.end(),
                    [](const EnvironmentEntry& entry) { return !entry.processes.empty(); }))
        return kernels;
    for (const Environment& environment : context.client().environmentDetails()) {
        if (!environment.kernels.empty())
            kernels[environment.id] = environment.kernels;
    }
    return kernels;
}

// The environments that linger: the list itself does not say. A table for programs has no room for
// it.
std::set<std::string> lingeringIn(Context& context, const ListingOptions& options) {
    std::set<std::string> ids;
    if (options.format == "csv")
        return ids;
    for (const Environment& environment : context.client().environmentDetails()) {
        if (environment.lingering)
            ids.insert(environment.id);
    }
    return ids;
}

// Without kernels, and in CSV, the columns are those of genv 1, which programs read.
Table environmentTable(bool withKernels) {
    std::vector<Table::Column> columns{
        {"ID", 8}, {"USER", 16}, {"NAME", 16}, {"CREATED", 21}, {"PID(S)", 0}};
    if (withKernels) {
        columns.back().width = 16;
        columns.push_back({"KERNEL(S)", 0});
    }
    return Table(std::move(columns));
}

void printEnvironments(Context& context, const ListingOptions& options) {
    if (context.options.json != JsonMode::Off) {
        context.printJson(
            environmentsJson(context.client().environmentDetails(), context.client().parents()));
        return;
    }
    // A table for programs has no room for it.
    const Parents parents = options.format == "csv" ? Parents{} : context.client().parents();
    const auto entries = asTree(context.client().environments(), parents);
    KernelsById kernels = options.format == "csv" ? KernelsById{} : kernelsOf(context, entries);
    const std::set<std::string> lingering = lingeringIn(context, options);
    Table table = environmentTable(!kernels.empty());
    for (const EnvironmentEntry& entry : entries) {
        const bool isWithin = parents.contains(entry.id);
        std::vector<std::string> cells{
            (isWithin ? "- " : "") + entry.id, fmt::format("{}({})", entry.user, entry.uid),
            entry.name.value_or(""), options.time(entry.created),
            joined(entry.processes, " ") + (lingering.contains(entry.id) ? " (lingering)" : "")};
        if (!kernels.empty())
            cells.push_back(joined(kernels[entry.id], " "));
        table.add(std::move(cells));
    }
    options.print(context, table);
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

std::optional<std::string> environmentOfKernel(Context& context, const std::string& kernel) {
    for (const Environment& environment : context.client().environmentDetails()) {
        if (std::find(environment.kernels.begin(), environment.kernels.end(), kernel) !=
            environment.kernels.end())
            return environment.id;
    }
    return std::nullopt;
}

// Programs of genv 1 ask about processes and kernels that may be in no environment, and take a
// failure for a defect.
void findEnvironment(Context& context, std::optional<std::uint32_t> pid,
                     const std::optional<std::string>& kernel) {
    const auto found =
        pid ? foundOrNothing([&] { return context.client().environmentOfProcess(*pid); })
            : environmentOfKernel(context, *kernel);
    if (context.printJson({{"eid", orNull(found)}}))
        return;
    if (found)
        print(shown(*found) + '\n');
}

std::vector<Environment> queried(Context& context, const std::optional<std::string>& id) {
    if (!id)
        return context.client().environmentDetails();
    auto found = foundOrNothing([&] { return context.client().environment(*id); });
    return found ? std::vector{*std::move(found)} : std::vector<Environment>{};
}

void deactivateEverybody(Context& context) {
    for (const EnvironmentEntry& entry : context.client().environments()) {
        context.authorised([&](Client& client) { client.deactivate(entry.id); });
        print(fmt::format("Environment {} of {} was ended\n", shown(entry.id), shown(entry.user)));
    }
}

void addQueryEnvironments(CLI::App& envs, Context& context) {
    CLI::App* command =
        envs.add_subcommand("query", "Print what is asked for, a line for each environment");
    const auto id = std::make_shared<std::optional<std::string>>();
    const auto query = std::make_shared<QueryOption>();
    command->add_option("--eid", *id, "Only this environment")->type_name("ID");
    query->addTo(*command, {"eid", "creation", "uid", "username", "config.name", "config.gpus",
                            "config.gpu_memory", "pids", "kernel_ids"});
    command->callback([&context, id, query] {
        context.command = [&context, id, query] {
            query->print(queried(context, *id), environmentCell);
        };
    });
}

void addFindEnvironment(CLI::App& envs, Context& context) {
    CLI::App* command =
        envs.add_subcommand("find", "Print the environment that a process or kernel belongs to");
    const auto pid = std::make_shared<std::optional<std::uint32_t>>();
    const auto kernel = std::make_shared<std::optional<std::string>>();
    CLI::Option* process = command->add_option("--pid", *pid, "A process")->type_name("PID");
    command->add_option("--kernel-id", *kernel, "A Jupyter kernel")
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
        envs.add_subcommand("activate", "Start an environment for a user, or add to one");
    const auto arguments = std::make_shared<AdministrativeActivateArguments>();
    command->add_option("--eid", arguments->id, "The environment")->required()->type_name("ID");
    command->add_option("--uid", arguments->uid, "The owner")->required()->type_name("UID");
    // The service takes the name from the user database.
    command->add_option("--username", "Accepted for old scripts: the owner's name")
        ->type_name("NAME");
    CLI::Option* process =
        command->add_option("--pid", arguments->pid, "The process that keeps it alive")
            ->type_name("PID");
    command->add_option("--kernel-id", arguments->kernel, "The Jupyter kernel that keeps it alive")
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
            context.authorised([&](Client& client) { client.activate(options); });
        };
    });
}

void addAdministrativeDeactivate(CLI::App& envs, Context& context) {
    CLI::App* command = envs.add_subcommand("deactivate", "Take a process out of its environment");
    const auto pid = std::make_shared<std::uint32_t>();
    command->add_option("--pid", *pid, "The process")->required()->type_name("PID");
    command->callback([&context, pid] {
        context.command = [&context, pid] {
            const std::string id = context.client().environmentOfProcess(*pid);
            context.authorised([&](Client& client) { client.removeProcess(id, *pid); });
            warnOfLingering(context.client(), id);
        };
    });
}

struct EnvsConfigArguments {
    std::string id;
    std::optional<Field> field; ///< unset: all
    std::optional<std::string> value;
    bool clear = false;
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
    if (arguments.clear) {
        for (const Field field : allFields) {
            if (!arguments.field || field == *arguments.field)
                clearField(change, field);
        }
    } else {
        Configuration wanted;
        setField(wanted, *arguments.field, *arguments.value);
        if (wanted.name)
            change.setName(wanted.name);
        if (wanted.gpus)
            change.setGpus(wanted.gpus);
        if (wanted.gpuMemoryBytes)
            change.setGpuMemoryBytes(wanted.gpuMemoryBytes);
    }
    context.authorised([&](Client& client) { client.configure(arguments.id, change); });
}

void addConfigure(CLI::App& envs, Context& context) {
    CLI::App* command = envs.add_subcommand("config", "Change what an environment wants");
    const auto arguments = std::make_shared<EnvsConfigArguments>();
    command->add_option("--eid", arguments->id, "The environment")->required()->type_name("ID");
    command->add_flag("--clear", arguments->clear, "Unset everything");
    const auto addField = [&](Field field, const char* option, const char* type) {
        CLI::App* one = command->add_subcommand(fieldName(field),
                                                fmt::format("Change the {}", fieldName(field)));
        CLI::Option* clear = one->add_flag("--clear", arguments->clear, "Unset it");
        one->add_option(option, arguments->value, "Its value")->type_name(type)->excludes(clear);
        one->callback([arguments, field] { arguments->field = field; });
    };
    addField(Field::Gpus, "--count", "N");
    addField(Field::Name, "--name", "NAME");
    addField(Field::GpuMemory, "--gpu-memory", "AMOUNT");
    command->require_subcommand(0, 1);
    command->callback([&context, arguments] {
        if (arguments->clear == arguments->value.has_value())
            throw CLI::RequiredError("--clear, or one of gpus, name and gpu-memory,");
        context.command = [&context, arguments] { configure(context, *arguments); };
    });
}

} // namespace

void addEnvs(CLI::App& app, Context& context) {
    CLI::App* envs = app.add_subcommand("envs", "Show who runs which environment");
    const auto options = std::make_shared<ListingOptions>();
    const auto reset = std::make_shared<bool>(false);
    options->addTo(*envs);
    envs->add_flag_callback(
        "--no-cleanup", [] {}, "Accepted for old scripts: what has ended is never listed");
    envs->add_flag("--reset", *reset, "End everybody's environments");
    envs->require_subcommand(0, 1);

    CLI::App* table = envs->add_subcommand("ps", "The same as without a subcommand");
    options->addTo(*table);
    addQueryEnvironments(*envs, context);
    addFindEnvironment(*envs, context);
    addAdministrativeActivate(*envs, context);
    addAdministrativeDeactivate(*envs, context);
    addConfigure(*envs, context);

    // The subcommands' callbacks run after this one and take precedence; ps has none.
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
