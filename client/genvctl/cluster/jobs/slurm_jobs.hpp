// SPDX-License-Identifier: LGPL-2.1-or-later
// The user's jobs on a Slurm cluster, for the commands for jobs: sbatch submits, squeue and sacct
// tell, scancel and scontrol change.
#pragma once

#include "client/genvctl/jobs/job_system.hpp"

#include <memory>
#include <vector>

namespace genv::ctl::cluster {

std::unique_ptr<JobSystem> openSlurmJobs();

/// Returns the user's jobs that slurmctld remembers, for completion: gives up after a second, and
/// prints nothing. Throws Failure.
std::vector<jobs::JobRow> rememberedJobs();

} // namespace genv::ctl::cluster
