// SPDX-License-Identifier: LGPL-2.1-or-later
// These functions show what an enforcement did, to people and as JSON, and read the report that
// asks for one.
#pragma once

#include "client/genvctl/context/context.hpp"
#include "genv/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// Whether processes may be signalled: not under GENV_TERMINATE_PROCESSES=0.
bool mayTerminateProcesses();

/// Throws Failure with this hint where processes may not be signalled.
void requireTermination(const std::string& hint);

/// Whether a message is no result but tells of what could not be or was not to be done: it starts
/// with [ERROR], [WARNING] or [DEBUG].
bool isForStandardError(std::string_view message);

Json toJson(const std::vector<EnforcementAction>& actions);

/// Prints each action's message on a line of its own where it belongs, or, as --json wants, one
/// array also where nothing was done.
void printActions(Context& context, const std::vector<EnforcementAction>& actions);

/// The report to send for what somebody wrote: with `terminate` false it also says that no process
/// is to be signalled. Throws Failure(Usage) for what is no JSON object.
std::string reportToSend(const std::string& text, bool terminate);

/// All of a descriptor as a report. Throws Failure(Usage) for more than 16 MiB, and Failure where
/// it cannot be read.
std::string readReport(int descriptor);

} // namespace genv::ctl
