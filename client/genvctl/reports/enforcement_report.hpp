// SPDX-License-Identifier: LGPL-2.1-or-later
// Shows the results of an enforcement to people and as JSON, and reads the report that requests
// one.
#pragma once

#include "client/genvctl/context/context.hpp"
#include "genv/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// Whether processes may be signalled. GENV_TERMINATE_PROCESSES=0 forbids it.
bool mayTerminateProcesses();

/// Throws Failure with this hint if processes may not be signalled.
void requireTermination(const std::string& hint);

/// Whether a message is not a result but an error, a warning or a debug message: it starts with
/// [ERROR], [WARNING] or [DEBUG].
bool isForStandardError(std::string_view message);

Json toJson(const std::vector<EnforcementAction>& actions);

/// Prints each action's message on its own line, to standard output or standard error. With --json,
/// prints one array, which may be empty.
void printActions(const GlobalOptions& global, const std::vector<EnforcementAction>& actions);

/// Returns the report to send for a given text. If `terminate` is false, the report also forbids
/// signals to processes. Throws Failure(Usage) if the text is not a JSON object.
std::string reportToSend(const std::string& text, bool terminate);

/// Reads a report from a descriptor to its end. Throws Failure(Usage) if it has more than 16 MiB,
/// and Failure if it cannot be read.
std::string readReport(int descriptor);

} // namespace genv::ctl
