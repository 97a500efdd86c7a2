// SPDX-License-Identifier: LGPL-2.1-or-later
// usage: prints the snapshot on which another program can base a decision, and executes such a
// decision.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/reports/enforcement_report.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

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

void addSnapshot(CLI::App& usage, Context& context) {
    CLI::App* command =
        usage.add_subcommand("snapshot", "Print processes, environments and devices");
    const auto type = std::make_shared<std::string>();
    command->add_option("--format", "Print as json, the only format")
        ->check(CLI::IsMember({"json"}).description(""))
        ->type_name("FORMAT");
    command->add_option("--type", *type, "Print only devices, envs or processes")
        ->check(CLI::IsMember({"devices", "envs", "processes"}).description(""))
        ->type_name("TYPE");
    command->callback(
        [&context, type] { context.command = [&context, type] { snapshot(context, *type); }; });
}

void addExecute(CLI::App& usage, Context& context) {
    CLI::App* command = usage.add_subcommand("execute", "Carry out a report from standard input");
    command->footer(
        "The report names entities of a snapshot to terminate and to detach:\n"
        "{\"terminate\": {\"processes\": [...]}, \"detach\": {\"0\": {\"envs\": [...]}}}\n"
        "Entities that have changed since the snapshot are left alone. With\n"
        "GENV_TERMINATE_PROCESSES=0 in the environment, no process is signaled.");
    command->callback([&context] { context.command = [&context] { executeReport(context); }; });
}

} // namespace

void addUsage(CLI::App& app, Context& context) {
    CLI::App* usage = app.add_subcommand("usage", "Print the usage, or carry out a report");
    usage->require_subcommand(1);
    addSnapshot(*usage, context);
    addExecute(*usage, context);
}

} // namespace genv::ctl
