// SPDX-License-Identifier: LGPL-2.1-or-later
// The options shared by "enforce" and "remote enforce".
#pragma once

#include "core/settings/rule_definitions.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// The headings of option groups in the help.
inline constexpr const char* ruleOptions = "Rule options";
inline constexpr const char* limitOptions = "Limit options";

/// The command line. Values with units are text until they are parsed.
struct EnforceArguments {
    core::RuleSwitches switches;
    std::string interval = "10";
    std::optional<std::uint32_t> maxDevicesPerUser;
    std::vector<std::string> maxDevicesForUser;
    bool isDryRun = false;
};

/// Adds --interval, the switches of rules, and a user's devices. The arguments must outlive the
/// parsing.
void addEnforceOptions(CLI::App& command, EnforceArguments& arguments);
/// Adds --dry-run, which comes last.
void addDryRun(CLI::App& command, EnforceArguments& arguments);

/// Parses "user=N" in each text. The last value for a user counts. Throws Failure(Usage) with the
/// name of the option.
std::map<std::string, std::uint32_t> readUserLimits(const char* option,
                                                    const std::vector<std::string>& texts);

} // namespace genv::ctl
