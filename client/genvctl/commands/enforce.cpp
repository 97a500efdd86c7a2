// SPDX-License-Identifier: LGPL-2.1-or-later
// enforce: runs rules over what everybody holds and uses, once or until told to stop.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/commands/enforce_options.hpp"
#include "client/genvctl/commands/option_values.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/enforcement.hpp"
#include "client/genvctl/stop_signals.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>

namespace genv::ctl {

namespace {

/// The command line; what has units is text until it is read.
struct Arguments : EnforceArguments {
    std::optional<std::string> maxGpuMemoryPerUser;
    std::optional<std::string> maxGpuMemoryPerDevice;
    std::optional<std::string> maxLifetime;
    std::optional<std::string> idleTimeout;
};

EnforceOptions readOptions(const Arguments& arguments) {
    EnforceOptions options = arguments.options;
    options.maxDevicesForUser =
        readUserLimits("--max-devices-for-user", arguments.maxDevicesForUser);
    options.maxGpuMemoryPerUserBytes =
        readMemory("--max-gpu-memory-per-user", arguments.maxGpuMemoryPerUser);
    options.maxGpuMemoryPerDeviceBytes =
        readMemory("--max-gpu-memory-per-device", arguments.maxGpuMemoryPerDevice);
    options.maxLifetime = readTime("--max-lifetime", arguments.maxLifetime);
    options.idleTimeout = readTime("--idle-timeout", arguments.idleTimeout);
    options.terminate = mayTerminateProcesses();
    return options;
}

void enforce(Context& context, const Arguments& arguments) {
    const EnforceOptions options = readOptions(arguments);
    const std::chrono::seconds interval = readTime("--interval", arguments.interval);
    if (interval.count() == 0) {
        printActions(context,
                     context.authorised([&](Client& client) { return client.enforce(options); }));
        return;
    }
    auto actions = std::optional(context.authorised(
        [&](Client& client) { return client.enforceRepeatedly(options, interval); }));
    const StopSignals stop;
    for (; actions; actions = context.client().nextEnforcement(stop.descriptor()))
        printActions(context, *actions);
    stop.take(); // being told to stop is how this ends well
}

void addMoreLimits(CLI::App& command, Arguments& arguments) {
    EnforceOptions& options = arguments.options;
    command
        .add_option("--max-environments-per-user", options.maxEnvironmentsPerUser,
                    "Environments of a user")
        ->type_name("N");
    command
        .add_option("--max-processes-per-user", options.maxProcessesPerUser,
                    "Processes of a user that use a GPU")
        ->type_name("N");
    command
        .add_option("--max-gpu-memory-per-user", arguments.maxGpuMemoryPerUser,
                    "Memory that a user's processes use, such as 4g")
        ->type_name("AMOUNT");
    command
        .add_option("--max-gpu-memory-per-device", arguments.maxGpuMemoryPerDevice,
                    "The same on any one device")
        ->type_name("AMOUNT");
    command
        .add_option("--max-lifetime", arguments.maxLifetime, "Age of an environment, such as 2h")
        ->type_name("TIME");
    command
        .add_option("--idle-timeout", arguments.idleTimeout,
                    "Idle time of an attached device, such as 30min")
        ->type_name("TIME");
}

} // namespace

void addEnforce(CLI::App& app, Context& context) {
    CLI::App* command = app.add_subcommand("enforce", "Enforce rules on what everybody uses");
    const auto arguments = std::make_shared<Arguments>();
    addEnforceOptions(*command, *arguments);
    addMoreLimits(*command, *arguments);
    addDryRun(*command, *arguments);
    command->footer(
        "Prints what was found and done, a line each, and nothing where all is well;\n"
        "what failed goes to standard error. With --json, an array for each cycle.\n"
        "With GENV_TERMINATE_PROCESSES=0 in the environment, environments are detached\n"
        "and no process is signalled. These limits are for these cycles only; lasting\n"
        "ones are set in genvd.conf.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { enforce(context, *arguments); };
    });
}

} // namespace genv::ctl
