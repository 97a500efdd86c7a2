// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/options/enforce_options.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/settings/limit_definitions.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <optional>

namespace genv::ctl {

namespace {

void addSwitches(CLI::App& command, core::RuleSwitches& switches) {
    for (const auto& [rule, toggle] : core::switchedRules()) {
        bool& isOn = switches.*toggle.member;
        command
            .add_flag(fmt::format("--{0},!--no-{0}", rule.name), isOn,
                      fmt::format("{} [default: {}]", toggle.help, isOn ? "on" : "off"))
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
            ->group(ruleOptions);
    }
}

} // namespace

void addEnforceOptions(CLI::App& command, EnforceArguments& arguments) {
    addOption(command, "--interval", arguments.interval,
              "Repeat every TIME, or run once with 0 [default: 10s]", {.values = ValueKind::Free})
        ->type_name("TIME");
    addSwitches(command, arguments.switches);
    const core::LimitDefinition& devices = *core::findLimit("max-devices-per-user");
    addOption(command, fmt::format("--{}", devices.name), arguments.maxDevicesPerUser,
              std::string(devices.help), {.values = ValueKind::Free})
        ->type_name("N")
        ->group(limitOptions);
    addOption(command, "--max-devices-for-user", arguments.maxDevicesForUser,
              "Allow USER up to N devices instead", {.values = ValueKind::UserLimit})
        ->type_name("USER=N")
        ->group(limitOptions);
}

void addDryRun(CLI::App& command, EnforceArguments& arguments) {
    command.add_flag("--dry-run", arguments.isDryRun, "Print what would be done, and do nothing");
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
                          fmt::format("invalid value \"{}\" for {}: expected USER=N", text, option),
                          "For example: alice=2.");
        limits.insert_or_assign(text.substr(0, equals), *number);
    }
    return limits;
}

} // namespace genv::ctl
