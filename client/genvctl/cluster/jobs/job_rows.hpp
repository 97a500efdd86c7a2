// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's jobs as the rows that the commands for jobs print.
#pragma once

#include "client/genvctl/cluster/jobs/batch_script.hpp"
#include "client/genvctl/cluster/jobs/job_records.hpp"
#include "client/jobs/link/reported_jobs.hpp"

#include <cstdint>
#include <vector>

namespace genv::ctl::cluster {

jobs::JobRow jobRow(const SlurmJobRecord& job);

/// `work` is what the job's batch script says; empty if that is not known.
jobs::JobDescription jobDescription(const SlurmJobRecord& job, const BatchedWork& work);

/// `now`, in µs since the epoch, is the end of the GPU time of a task that runs.
jobs::TaskRow taskRow(const SlurmJobRecord& job, std::uint32_t number, const BatchedWork& work,
                      std::uint64_t now);

/// Whether a job that waits for this end of the job may start now; false while that is open. Throws
/// Failure if it never may.
bool isMet(const SlurmJobRecord& job, jobs::Condition condition);

/// When the last task ended; 0 while one waits or runs.
std::uint64_t endOf(const SlurmJobRecord& job);

} // namespace genv::ctl::cluster
