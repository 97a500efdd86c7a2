// SPDX-License-Identifier: LGPL-2.1-or-later
// usage: prints the snapshot on which another program can base a decision, and executes such a
// decision.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/reports/enforcement_report.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <array>
#include <memory>

namespace genv::ctl {

namespace {

void snapshot(Context& context, const std::string& type) {
    Json json = Json::parse(context.client().snapshot(), nullptr, false);
    // The service of another machine may not be a genvd.
    if (!json.is_object() || (!type.empty() && !json.contains(type)))
        throw Failure(ExitStatus::Failed, "The service sent an invalid snapshot");
    if (!type.empty())
        json = Json(json.at(type));
    print(jsonText(json, context.options.json == JsonMode::Pretty));
}

void executeReport(Context& context) {
    const std::string report = reportToSend(readReport(STDIN_FILENO), mayTerminateProcesses());
    printActions(context.options,
                 context.authorized([&](Client& client) { return client.execute(report); }));
}

constexpr std::array usageSnapshotExamples{
    Example{"Print all processes, environments and devices",
            "genvctl usage snapshot --format json"},
    Example{"Print only the devices", "genvctl usage snapshot --type devices"},
};

void addSnapshot(CLI::App& usage, Context& context) {
    CLI::App* command = addCommand(usage, "snapshot", "Print processes, environments and devices",
                                   {.examples = usageSnapshotExamples});
    const auto type = std::make_shared<std::string>();
    Definition::of(*command)
        .describe(command->add_option("--format", "Print as json, the only format"),
                  {.values = OneOf{"json"}})
        ->check(CLI::IsMember({"json"}).description(""))
        ->type_name("FORMAT");
    addOption(*command, "--type", *type, "Print only devices, envs or processes",
              {.values = OneOf{"devices", "envs", "processes"}})
        ->check(CLI::IsMember({"devices", "envs", "processes"}).description(""))
        ->type_name("TYPE");
    command->callback(
        [&context, type] { context.command = [&context, type] { snapshot(context, *type); }; });
}

constexpr std::array usageExecuteExamples{
    Example{"Carry out a report", "genvctl usage execute < report.json"},
};

void addExecute(CLI::App& usage, Context& context) {
    CLI::App* command = addCommand(usage, "execute", "Carry out a report from standard input",
                                   {.examples = usageExecuteExamples});
    command->footer(
        "The report names entities of a snapshot to terminate and to detach:\n"
        "{\"terminate\": {\"processes\": [...]}, \"detach\": {\"0\": {\"envs\": [...]}}}\n"
        "Entities that have changed since the snapshot are left alone. With\n"
        "GENV_TERMINATE_PROCESSES=0 in the environment, no process is signaled.");
    command->callback([&context] { context.command = [&context] { executeReport(context); }; });
}

} // namespace

constexpr std::array usageExamples{
    Example{"Print a snapshot for a program", "genvctl usage snapshot"},
    Example{"Carry out a report", "genvctl usage execute < report.json"},
};

void addUsage(CLI::App& app, Context& context) {
    CLI::App* usage = addCommand(app, "usage", "Print the usage, or carry out a report",
                                 {.onCluster = cluster::aboutThisMachine(
                                      "\"genvctl devices --json\" has the GPUs of the cluster."),
                                  .examples = usageExamples});
    usage->require_subcommand(1);
    addSnapshot(*usage, context);
    addExecute(*usage, context);
}

} // namespace genv::ctl
