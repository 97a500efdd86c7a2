// SPDX-License-Identifier: LGPL-2.1-or-later
// The user's jobs on other machines that share the home.
#pragma once

#include "client/jobs/link/reported_jobs.hpp"

#include <string>
#include <vector>

namespace genv::ctl {

struct MachineJob : jobs::JobRow {
    std::string machine; ///< its ID, see machine-id(5)
};

/// Returns the jobs that genv-jobs reads from the databases of the other machines. Without `all`,
/// those that wait or run and those that ended within a day. Throws Failure.
std::vector<MachineJob> jobsOfOtherMachines(bool all);

} // namespace genv::ctl
