// SPDX-License-Identifier: LGPL-2.1-or-later
// Starts, ends and extends Slurm jobs.
#pragma once

#include "client/genvctl/cluster/given_options.hpp"
#include "client/genvctl/cluster/questions.hpp"

namespace genv::ctl {
class Context;
}

namespace genv::ctl::cluster {

/// Explains an empty table on standard error.
void reportNoGpus();

/// Implement run, activate, deactivate and extend. They throw Failure.
void runJob(Context& context, const GivenCommand& given);
void runShellJob(Context& context, const GivenCommand& given);
void cancelJob(Context& context, const GivenCommand& given);
void extendJob(Context& context, const GivenCommand& given);

} // namespace genv::ctl::cluster
