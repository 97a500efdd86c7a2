// SPDX-License-Identifier: LGPL-2.1-or-later
// The book of a user's jobs: all their tasks and what may happen to each. It decides what runs next
// and what a task becomes, and knows no bus, file or clock. A change is written (JobStore), then
// made, then told (the observer). A request that cannot be written throws and has changed nothing;
// a fact (an attempt ended) that cannot be written is kept, and written with the next change.
#pragma once

#include "client/jobs/model/dependencies.hpp"
#include "client/jobs/model/job.hpp"
#include "client/jobs/model/job_state.hpp"
#include "client/jobs/model/job_store.hpp"
#include "client/jobs/model/request_turns.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace genv::jobs {

/// Why a task that waits is not requested; the order is that in which they are checked.
enum class Blocked : std::uint8_t { Nothing, Held, Begin, Dependency, Parallel, Turn };

class Book {
  public:
    /// At most this many requests of a user wait in genvd at once.
    static constexpr std::size_t maxRequests = 8;
    static constexpr std::size_t maxTasksPerJob = 100'000;
    static constexpr std::size_t maxTasks = 1'000'000;
    /// A job that has ended is kept for this long, with its logs.
    static constexpr std::chrono::days kept{30};

    /// Called after each change that was made, with the jobs that it concerns. It must not change
    /// the book.
    using Observer =
        std::function<void(const std::set<JobNumber>& added, const std::set<JobNumber>& changed)>;

    /// Loads the jobs. The store must outlive this object. Throws JobError.
    explicit Book(JobStore& store);
    void observe(Observer observer);

    [[nodiscard]] const std::map<JobNumber, Job>& jobs() const { return jobs_; }
    /// Throws JobError (NoSuchJob).
    [[nodiscard]] const Job& job(JobNumber number) const;
    [[nodiscard]] const Task& task(TaskName name) const;
    /// Whether a task waits, starts or runs.
    [[nodiscard]] bool isUnfinished() const { return unfinished_ > 0; }
    /// The attempts that start or run, to be compared with units and files.
    [[nodiscard]] std::vector<AttemptName> openAttempts() const;

    /// Throws JobError: InvalidArgs for what cannot be, NoSuchJob for a dependency on a job that
    /// is not there, LimitsExceeded, StorageFailed. If a dependency can no longer be met, the tasks
    /// are canceled at once.
    JobNumber submit(Submission submission, core::WallTime now);

    /// The tasks that should have a request in genvd now, in order: by priority, then job, then
    /// number; at most maxRequests, beside those that start or run. Whatever has a request and is
    /// not among them should be withdrawn; a task that has one keeps it against others of the same
    /// priority. A clock that was set back makes the begin of a job a later one again. Others take
    /// the places of tasks that are delayed: genvd refused them for now.
    [[nodiscard]] std::vector<TaskName> wanted(const std::set<TaskName>& requested,
                                               core::WallTime now,
                                               const std::set<TaskName>& delayed = {});
    /// When wanted() can change next without a call of this object: the next begin.
    [[nodiscard]] std::optional<core::WallTime> nextBegin(core::WallTime now) const;
    /// Turn also stands for a task that is wanted, and Nothing for one that does not wait.
    [[nodiscard]] Blocked blockedBy(TaskName task, core::WallTime now) const;

    // The steps of an attempt. All but begin() are facts: they never throw, and one that does not
    // fit the state of the task, such as a second end, changes nothing. The start and the end are
    // on the disk in the files of the attempt, so that they are written with the next change, or by
    // writeAgain(): a task costs one transaction, not three.

    /// Records the next attempt of a waiting task, before anything of it is started. Throws
    /// JobError: NoSuchJob, InvalidArgs if the task must not start now (it was canceled, held...;
    /// give the environment back), StorageFailed.
    AttemptName begin(TaskName task, const std::string& environment,
                      const std::vector<std::string>& devices, core::WallTime now);
    /// The start mark was seen.
    void started(AttemptName attempt, core::WallTime at);
    /// The attempt never began: no start mark was made, and none can be made any more. The task
    /// waits again, at no cost to its retries, or is canceled if that is the wish.
    void notStarted(AttemptName attempt, core::WallTime now);
    /// genvd refuses the request of a waiting task for good. It has failed.
    void refused(TaskName task, const std::string& reason, core::WallTime now);
    /// The attempt ended. A failure or loss makes the task wait again where its retries allow.
    void ended(AttemptName attempt, const AttemptEnding& ending);
    /// A sample of the GPU memory of a running attempt. It is written with the next change, and
    /// not told.
    void used(AttemptName attempt, std::uint64_t gpuMemoryBytes);

    /// Whether everything about a task is in the database. Until then, the files of its ended
    /// attempt must stay.
    [[nodiscard]] bool isWritten(TaskName task) const { return !unwritten_.contains(task); }
    /// Whether writeAgain() should be called: soon, or from time to time if the last write failed.
    [[nodiscard]] bool mustWriteAgain() const { return hasSteps_ || !writeError_.empty(); }
    /// Why the last write failed; empty if it did not.
    [[nodiscard]] const std::string& writeError() const { return writeError_; }
    /// Writes the steps, samples and whatever could not be written. Returns whether everything is
    /// written.
    bool writeAgain();

    // What the user asks for. An empty list means all tasks of the job. Each returns the tasks that
    // it concerns, and throws JobError: NoSuchJob, also for a task that is not there,
    // StorageFailed.

    /// Waiting tasks are canceled. Those that start or run get the wish: the caller ends them.
    std::vector<TaskName> cancel(JobNumber job, std::span<const std::uint32_t> tasks,
                                 core::WallTime now);
    /// Concerns waiting tasks only.
    std::vector<TaskName> hold(JobNumber job, std::span<const std::uint32_t> tasks);
    std::vector<TaskName> release(JobNumber job, std::span<const std::uint32_t> tasks);
    /// Ended tasks wait again. Those that start or run get the wish: the caller ends them. Without
    /// a list: those that failed, were lost or canceled; if there are none, those that run; if
    /// there are none either, all that are done. Throws InvalidArgs if the job's dependency can no
    /// longer be met: the other job must be requeued first.
    std::vector<TaskName> requeue(JobNumber job, std::span<const std::uint32_t> tasks);

    /// Removes jobs that ended longer than `kept` ago, unless an unfinished job depends on them.
    /// Returns them with their tasks, so that the caller removes their logs. A clock that jumped
    /// ahead of all that is recorded removes nothing. Throws JobError (StorageFailed).
    std::vector<Job> forget(core::WallTime now);

  private:
    using Changes = std::vector<TaskChange>;

    [[nodiscard]] Task* find(TaskName name);
    /// The named tasks, or all.
    [[nodiscard]] std::vector<const Task*> named(const Job& job,
                                                 std::span<const std::uint32_t> numbers) const;
    [[nodiscard]] static Changes changesOf(const Job& job, std::vector<Task> tasks);
    std::vector<TaskName> requestEach(const Job& job, std::vector<Task> tasks);
    void requireDependencies(const Submission& submission) const;
    [[nodiscard]] bool isNeeded(JobNumber job) const;
    [[nodiscard]] core::WallTime newestTime() const;

    void insert(Job job);
    void erase(JobNumber number);
    void write(const Changes& changes);
    void request(const Changes& changes);
    void fact(const Changes& changes);
    void step(TaskName name, Task task);
    void note(const Changes& changes);
    void make(const Changes& changes);
    void settle();
    void settle(const Job& job);
    void tell();

    JobStore& store_;
    Observer observer_;
    std::map<JobNumber, Job> jobs_;
    std::map<JobNumber, std::set<JobNumber>> dependents_;
    RequestTurns turns_{maxRequests};
    std::size_t tasks_ = 0;
    std::size_t unfinished_ = 0; ///< jobs

    std::set<TaskName> unwritten_;
    bool hasSteps_ = false; ///< of attempts, unwritten
    std::string writeError_;
    std::set<JobNumber> unsettled_; ///< jobs whose dependencies are to be looked at
    std::set<JobNumber> added_;     ///< not yet told
    std::set<JobNumber> changed_;   ///< not yet told
};

} // namespace genv::jobs
