// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs nvidia-smi in each mode that only reads, and keeps its output.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace genv::recording {

/// A command line of nvidia-smi, with the name under which a recording keeps it.
struct ToolMode {
    const char* name;
    std::vector<std::string> arguments;
};

/// Every mode that genv's nvidia-smi handles or passes on. None changes a setting.
const std::vector<ToolMode>& toolModes();

/// How a mode ended.
struct ToolOutput {
    std::string name;
    std::vector<std::string> arguments;
    std::string out;
    std::string err;
    std::optional<int> status; ///< unset: it did not end in time
    int signal = 0;            ///< the signal that ended it, or 0
};

/// Runs the program in each mode. A mode that exceeds the time is killed; after two of these the
/// other modes are left out.
std::vector<ToolOutput> recordTool(const std::string& program, std::chrono::seconds timeout);

} // namespace genv::recording
