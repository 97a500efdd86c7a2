// SPDX-License-Identifier: LGPL-2.1-or-later
// The options that "enforce" and "remote enforce" have in common.
#pragma once

#include "genv/types.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace genv::ctl {

/// The command line; what has units is text until it is read.
struct EnforceArguments {
    EnforceOptions options;
    std::string interval = "10";
    std::vector<std::string> maxDevicesForUser;
};

/// --interval, the switches of rules about processes, and a user's devices. The arguments outlive
/// the parsing.
void addEnforceOptions(CLI::App& command, EnforceArguments& arguments);
/// --dry-run, which comes last.
void addDryRun(CLI::App& command, EnforceArguments& arguments);

/// Reads "user=N" of each text; the last of a user's counts. Throws Failure(Usage) that names the
/// option.
std::map<std::string, std::uint32_t> readUserLimits(const char* option,
                                                    const std::vector<std::string>& texts);

} // namespace genv::ctl
