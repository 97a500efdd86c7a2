// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/commands/enforce_options.hpp"

#include "client/genvctl/exit_status.hpp"
#include "client/genvctl/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <optional>

namespace genv::ctl {

namespace {

void addSwitch(CLI::App& command, const std::string& name, bool& value, const std::string& help) {
    command.add_flag(fmt::format("--{0},!--no-{0}", name), value, help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

} // namespace

void addEnforceOptions(CLI::App& command, EnforceArguments& arguments) {
    EnforceOptions& options = arguments.options;
    command
        .add_option("--interval", arguments.interval,
                    "How often, until Ctrl-C or SIGTERM (10s); 0: once")
        ->type_name("TIME");
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
}

void addDryRun(CLI::App& command, EnforceArguments& arguments) {
    command.add_flag("--dry-run", arguments.options.dryRun,
                     "Only tell what would be done; free for everybody");
}

std::map<std::string, std::uint32_t> readUserLimits(const char* option,
                                                    const std::vector<std::string>& texts) {
    std::map<std::string, std::uint32_t> limits;
    for (const std::string& text : texts) {
        const std::size_t equals = text.rfind('=');
        const auto number =
            equals == std::string::npos ? std::nullopt : parseNumber(text.substr(equals + 1));
        if (!number || equals == 0)
            throw Failure(ExitStatus::Usage,
                          fmt::format("{}: \"{}\" is not a user and a number", option, text),
                          "Write it as user=N, such as alice=2.");
        limits.insert_or_assign(text.substr(0, equals), *number);
    }
    return limits;
}

} // namespace genv::ctl
