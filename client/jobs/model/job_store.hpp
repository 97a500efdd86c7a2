// SPDX-License-Identifier: LGPL-2.1-or-later
// The port through which the book writes: each call is on the disk when it returns, whole or not
// at all.
#pragma once

#include "client/jobs/model/job.hpp"
#include "client/jobs/model/job_error.hpp"

#include <span>
#include <utility>
#include <vector>

namespace genv::jobs {

/// Tasks of a job that change, with their new contents.
struct TaskChange {
    JobNumber job = 0;
    Task task;
};

class JobStore {
  public:
    JobStore() = default;
    JobStore(const JobStore&) = delete;
    JobStore& operator=(const JobStore&) = delete;
    virtual ~JobStore() = default;

    /// Returns all jobs, by number. Throws JobError (StorageFailed).
    virtual std::vector<Job> load() = 0;
    /// Writes a new job with its tasks, and returns its number. Throws JobError (StorageFailed)
    /// and has then changed nothing.
    virtual JobNumber add(const Submission& submission, core::WallTime submitted) = 0;
    /// Writes these tasks in one transaction. Throws JobError (StorageFailed) and has then
    /// changed nothing.
    virtual void write(std::span<const TaskChange> changes) = 0;
    /// Removes jobs with their tasks. Their numbers are not used again. Throws JobError.
    virtual void remove(std::span<const JobNumber> jobs) = 0;
    /// Returns the submission of a job, without the values of the tasks. Throws JobError.
    virtual Submission submission(JobNumber job) = 0;
    /// Returns the value of a task. Throws JobError.
    virtual std::string value(TaskName task) = 0;
};

} // namespace genv::jobs
