// SPDX-License-Identifier: LGPL-2.1-or-later
// cancel, hold, release and requeue, as scancel and scontrol.
#pragma once

#include "client/genvctl/cluster/jobs/job_records.hpp"
#include "client/genvctl/jobs/job_system.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

/// Returns which of these tasks, or of all if there are no numbers, a change concerns, as genv-jobs
/// decides it.
std::vector<std::uint32_t> concernedTasks(const SlurmJobRecord& job, JobSystem::Change change,
                                          const std::vector<std::uint32_t>& numbers);

/// Returns the command that makes the change.
std::vector<std::string> changeCommand(const SlurmJobRecord& job, JobSystem::Change change,
                                       const std::vector<std::uint32_t>& tasks);

/// Makes the change. Throws Failure.
void changeTasks(const SlurmJobRecord& job, JobSystem::Change change,
                 const std::vector<std::uint32_t>& tasks);

} // namespace genv::ctl::cluster
