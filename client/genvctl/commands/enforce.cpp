// SPDX-License-Identifier: LGPL-2.1-or-later
// enforce: runs rules over what everybody holds and uses, once or until told to stop.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/commands/option_values.hpp"
#include "client/genvctl/context.hpp"
#include "client/genvctl/enforcement.hpp"
#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/stop_signals.hpp"
#include "client/genvctl/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <memory>

namespace genv::ctl {

namespace {

/// The command line; what has units is text until it is read.
struct Arguments {
    EnforceOptions options;
    std::string interval = "10";
    std::vector<std::string> maxDevicesForUser;
    std::optional<std::string> maxGpuMemoryPerUser;
    std::optional<std::string> maxGpuMemoryPerDevice;
    std::optional<std::string> maxLifetime;
    std::optional<std::string> idleTimeout;
};

std::pair<std::string, std::uint32_t> readUserLimit(const std::string& text) {
    const std::size_t equals = text.rfind('=');
    const auto number =
        equals == std::string::npos ? std::nullopt : parseNumber(text.substr(equals + 1));
    if (!number || equals == 0)
        throw Failure(
            ExitStatus::Usage,
            fmt::format("--max-devices-for-user: \"{}\" is not a user and a number", text),
            "Write it as user=N, such as alice=2.");
    return {text.substr(0, equals), *number};
}

EnforceOptions readOptions(const Arguments& arguments) {
    EnforceOptions options = arguments.options;
    for (const std::string& text : arguments.maxDevicesForUser)
        options.maxDevicesForUser.insert_or_assign(readUserLimit(text).first,
                                                   readUserLimit(text).second);
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

void addSwitch(CLI::App& command, const std::string& name, bool& value, const std::string& help) {
    command.add_flag(fmt::format("--{0},!--no-{0}", name), value, help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void addRules(CLI::App& command, Arguments& arguments) {
    EnforceOptions& options = arguments.options;
    addSwitch(command, "non-env-processes", options.nonEnvironmentProcesses,
              "End processes outside every environment (off)");
    addSwitch(command, "env-devices", options.environmentDevices,
              "End processes on devices they were not given (on)");
    addSwitch(command, "env-memory", options.environmentMemory,
              "End processes of environments over a share (on)");
    command.add_option("--max-devices-per-user", options.maxDevicesPerUser, "Devices of a user")
        ->type_name("N");
    command
        .add_option("--max-devices-for-user", arguments.maxDevicesForUser,
                    "Devices of these users, over the one before")
        ->type_name("USER=N");
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
    command
        ->add_option("--interval", arguments->interval,
                     "How often, until Ctrl-C or SIGTERM (10s); 0: once")
        ->type_name("TIME");
    addRules(*command, *arguments);
    command->add_flag("--dry-run", arguments->options.dryRun,
                      "Only tell what would be done; free for everybody");
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
