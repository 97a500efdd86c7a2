// SPDX-License-Identifier: LGPL-2.1-or-later
// A store without a disk, which can be full.
#pragma once

#include "client/jobs/model/job_store.hpp"
#include "client/jobs/model/submission.hpp"
#include "tests/jobs/samples.hpp"

#include <algorithm>
#include <map>

namespace genv::jobs::tests {

class MemoryStore final : public JobStore {
  public:
    std::vector<Job> load() override {
        std::vector<Job> jobs;
        for (const auto& [number, job] : kept)
            jobs.push_back(job);
        return jobs;
    }
    JobNumber add(const Submission& submission, core::WallTime submitted) override {
        requireSpace();
        ++last;
        kept[last] = jobOf(submission, last, submitted);
        return last;
    }
    void write(std::span<const TaskChange> changes) override {
        requireSpace();
        ++writes;
        for (const TaskChange& change : changes) {
            if (change.task.lastAttempt > 0)
                attempts[{{change.job, change.task.number}, change.task.lastAttempt}] =
                    change.task.record().last;
            *std::ranges::find(kept.at(change.job).tasks, change.task.number, &Task::number) =
                change.task;
        }
    }
    void remove(std::span<const JobNumber> jobs) override {
        requireSpace();
        for (const JobNumber job : jobs)
            kept.erase(job);
    }
    Submission submission(JobNumber) override { return single(); }
    std::string value(TaskName) override { return {}; }

    bool isFull = false;
    int writes = 0;
    JobNumber last = 0;
    std::map<JobNumber, Job> kept;
    std::map<AttemptName, Attempt> attempts;

  private:
    void requireSpace() const {
        if (isFull)
            fail(JobErrorCode::StorageFailed, "the disk is full");
    }
};

} // namespace genv::jobs::tests
