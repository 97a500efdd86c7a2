// SPDX-License-Identifier: LGPL-2.1-or-later
// Jobs and tasks that the command line names, and what their ends mean for an exit status.
#pragma once

#include "client/genvctl/jobs/job_names.hpp"
#include "client/genvctl/jobs/job_system.hpp"

#include <string>
#include <vector>

namespace genv::ctl {

/// Returns the named tasks, by number. Throws Failure if a range has none.
std::vector<jobs::TaskRow> describeTasks(JobSystem& system, const NamedTasks& named);

/// The tasks of one job; no number means all.
struct JobTasks {
    jobs::JobNumber job = 0;
    std::vector<std::uint32_t> tasks;
};

/// Returns the named tasks, each job once, in the order of the command line. Asks only for the
/// tasks within a range. Throws Failure.
std::vector<JobTasks> tasksByJob(JobSystem& system, const std::vector<NamedTasks>& named);

/// Returns the exit status of an ended job or task: 0 for success, its own, or 1 if it has none.
int statusOf(const jobs::JobRow& job);
int statusOf(const jobs::TaskRow& task);

/// Ends the command with this exit status. Throws Failure unless it is 0.
void endWith(int status);

} // namespace genv::ctl
