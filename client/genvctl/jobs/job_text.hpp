// SPDX-License-Identifier: LGPL-2.1-or-later
// Jobs and tasks in reports, in tables and as JSON.
#pragma once

#include "client/genvctl/jobs/other_machines.hpp"
#include "client/genvctl/jobs/state_text.hpp"
#include "client/genvctl/terminal/json.hpp"
#include "client/genvctl/terminal/table.hpp"
#include "client/jobs/link/reported_jobs.hpp"

#include <string>
#include <vector>

namespace genv::ctl {

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
Json toJson(const MachineJob& job);
Json toJson(const jobs::JobDescription& job, const std::vector<jobs::TaskRow>& tasks);
Json toJson(const jobs::TaskRow& task);

} // namespace genv::ctl
