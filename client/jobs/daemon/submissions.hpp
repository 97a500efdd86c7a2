// SPDX-License-Identifier: LGPL-2.1-or-later
// What was submitted, as the attempts of a job need it. The database has it; the newest few are
// kept in memory, since the tasks of an array start one after another.
#pragma once

#include "client/jobs/files/places.hpp"
#include "client/jobs/model/job.hpp"
#include "client/jobs/model/job_store.hpp"

#include <cstddef>
#include <list>
#include <string>
#include <utility>

namespace genv::jobs {

class Submissions {
  public:
    explicit Submissions(JobStore& store) : store_(store) {}

    /// Valid until the next call. Throws JobError (StorageFailed).
    [[nodiscard]] const Submission& get(JobNumber job);
    [[nodiscard]] std::string value(TaskName task) { return store_.value(task); }
    /// The path of a task's output. Throws JobError (StorageFailed).
    [[nodiscard]] std::string outputOf(TaskName task, const Places& places);
    void forget(JobNumber job);

  private:
    static constexpr std::size_t maxKept = 16;

    JobStore& store_;
    std::list<std::pair<JobNumber, Submission>> kept_; ///< the one used last comes first
};

/// Replaces each "{}" in a text by the value of a task.
void replaceValue(std::string& text, const std::string& value);

/// The path of the log of a task.
[[nodiscard]] std::string logOf(TaskName task, bool isArray, const Places& places);

} // namespace genv::jobs
