// SPDX-License-Identifier: LGPL-2.1-or-later
// Says why a command of "genvctl run" was ended: which rule, lease or administrator, and what to
// do; and which of its children keep its GPUs when it has ended. The command has taken genvctl's
// place in its process, so another process says it: the reporter, which is no child of the
// command's, hears the service's notices, writes them to the same standard error, and ends with the
// command.
#pragma once

#include <string>

namespace genv::ctl {

class Context;

/// Starts the reporter of an environment whose command is about to take the place of this process.
/// A reporter that cannot be started is no reason not to run the command: nothing is said then.
void startEndingReporter(const std::string& environment);

/// The reporter itself: returns once the command has ended and all that the service told of the
/// environment until then is written.
void reportEndings(Context& context, const std::string& environment);

} // namespace genv::ctl
