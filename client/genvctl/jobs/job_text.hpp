// SPDX-License-Identifier: LGPL-2.1-or-later
// Jobs and tasks in words, in tables and as JSON.
#pragma once

#include "client/genvctl/jobs/other_machines.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "client/jobs/link/rows.hpp"

#include <string>
#include <vector>

namespace genv::ctl {

/// Returns the state: "waiting for a GPU, expected at 22:10", "failed with status 1", and of an
/// array "137/200 done, 4 running, 2 failed".
std::string stateText(const jobs::JobRow& job, Time now);
std::string stateText(const jobs::TaskRow& task);

/// Returns how long it has run, or ran; empty if it has not started.
std::string runTimeText(std::uint64_t started, std::uint64_t ended, Time now);

Table jobsTable(const std::vector<jobs::JobRow>& jobs, Time now);
/// The same for jobs of other machines, with the start of the machine's ID.
Table jobsTable(const std::vector<MachineJob>& jobs, Time now);
/// A table of tasks of a job.
Table tasksTable(const std::vector<jobs::TaskRow>& tasks, Time now);
/// Returns everything about a job as lines "Name: value". The tasks are those that are shown one by
/// one; of a job that is no array, its only task.
std::string jobReport(const jobs::JobDescription& job, const std::vector<jobs::TaskRow>& tasks,
                      Time now);
/// The same about a task of an array.
std::string taskReport(const jobs::JobDescription& job, const jobs::TaskRow& task, Time now);

Json toJson(const jobs::JobRow& job);
Json toJson(const jobs::JobDescription& job);
Json toJson(const jobs::TaskRow& task);

} // namespace genv::ctl
