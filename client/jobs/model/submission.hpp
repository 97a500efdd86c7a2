// SPDX-License-Identifier: LGPL-2.1-or-later
// What may be submitted, and the job that it becomes.
#pragma once

#include "client/jobs/model/job.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace genv::jobs {

/// Sorts the tasks and drops duplicates. Throws JobError: InvalidArgs for what
/// cannot be, LimitsExceeded for more tasks than this.
void prepare(Submission& submission, std::size_t maxTasks);

/// The command for lists: its words, escaped and shortened.
[[nodiscard]] std::string summaryOf(std::span<const std::string> command);

/// A submission as a job whose tasks wait.
[[nodiscard]] Job jobOf(const Submission& submission, JobNumber number, core::WallTime submitted);

} // namespace genv::jobs
