// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports why a command of "genvctl run" was ended: the rule, lease or administrator, and what to
// do about it. Also reports which children of an ended command keep its GPUs. The command has
// replaced genvctl in its process, so this needs another process: the reporter. It is not a child
// of the command. It receives the notices of the service, writes them to the same standard error,
// and ends with the command.
#pragma once

#include <string>

namespace genv::ctl {

class Context;

/// Starts the reporter for an environment whose command is about to replace this process. If the
/// reporter cannot be started, the command runs without it.
void startEndingReporter(const std::string& environment);

/// Runs the reporter. Returns after the command has ended and all notices about its environment are
/// written.
void reportEndings(Context& context, const std::string& environment);

} // namespace genv::ctl
