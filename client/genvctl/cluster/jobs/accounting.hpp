// SPDX-License-Identifier: LGPL-2.1-or-later
// Jobs that slurmctld has forgotten, from Slurm's accounting. Text of sacct is read, because the
// JSON of sacct in Slurm 22.05 has exit status 0 for every job.
#pragma once

#include "client/genvctl/cluster/jobs/job_records.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// Returns the command whose output readAccounting() reads: the jobs of this user that ended since
/// then, or one job whenever it ended. It needs the variable SLURM_TIME_FORMAT=%s.
std::vector<std::string> endedSinceCommand(std::uint32_t uid, const std::string& since);
std::vector<std::string> endedJobCommand(std::uint32_t uid, jobs::JobNumber job);

/// Reads the jobs that have ended; others are left out. Throws UnknownShape.
SlurmJobs readAccounting(std::string_view sacct, std::uint32_t uid);

/// Adds what the accounting knows and slurmctld does not.
void addForgotten(SlurmJobs& remembered, SlurmJobs accounted);

} // namespace genv::ctl::cluster
