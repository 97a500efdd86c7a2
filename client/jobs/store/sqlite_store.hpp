// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs of a user in an SQLite database. Each change is one transaction, on the disk when the
// call returns.
#pragma once

#include "client/jobs/model/job_store.hpp"
#include "client/jobs/store/database.hpp"

#include <filesystem>

namespace genv::jobs {

class SqliteStore final : public JobStore {
  public:
    /// Opens the database, or creates it with mode 0600, and upgrades one of an earlier version.
    /// Its folder must exist. Throws JobError (StorageFailed) for one that is damaged, foreign, in
    /// use or of a later version, and changes nothing of it.
    explicit SqliteStore(const std::filesystem::path& path);

    std::vector<Job> load() override;
    JobNumber add(const Submission& submission, core::WallTime submitted) override;
    void write(std::span<const TaskChange> changes) override;
    void remove(std::span<const JobNumber> jobs) override;
    Submission submission(JobNumber job) override;
    std::string value(TaskName task) override;

  private:
    void addDependencies(JobNumber job, const std::vector<Dependency>& after);
    void addTasks(JobNumber job, const Submission& submission);
    void writeTask(JobNumber job, const Task& task);
    void writeAttempt(JobNumber job, const Task& task);

    Database database_;
    Statement addJob_;
    Statement addDependency_;
    Statement addTask_;
    Statement writeTask_;
    Statement writeAttempt_;
    Statement value_;
};

} // namespace genv::jobs
