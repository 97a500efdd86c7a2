// SPDX-License-Identifier: LGPL-2.1-or-later
// The options that "enforce" and "remote enforce" have in common.
#pragma once

#include "core/rule_definitions.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// The titles of groups of options in the help.
inline constexpr const char* ruleOptions = "Rule options";
inline constexpr const char* limitOptions = "Limit options";

/// The command line; values with units are text until they are read.
struct EnforceArguments {
    core::RuleSwitches switches;
    std::string interval = "10";
    std::optional<std::uint32_t> maxDevicesPerUser;
    std::vector<std::string> maxDevicesForUser;
    bool isDryRun = false;
};

/// --interval, the switches of rules, and a user's devices. The arguments outlive the parsing.
void addEnforceOptions(CLI::App& command, EnforceArguments& arguments);
/// --dry-run, which comes last.
void addDryRun(CLI::App& command, EnforceArguments& arguments);

/// Reads "user=N" of each text; the last of a user's counts. Throws Failure(Usage) that names the
/// option.
std::map<std::string, std::uint32_t> readUserLimits(const char* option,
                                                    const std::vector<std::string>& texts);

} // namespace genv::ctl
