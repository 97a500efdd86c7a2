// SPDX-License-Identifier: LGPL-2.1-or-later
// The book of a user's jobs: all their tasks and what may happen to each. It decides what runs next
// and what a task becomes, and knows no bus, file or clock. A change is written (Store), then made,
// then told (the observer). A request that cannot be written throws and has changed nothing; a fact
// (an attempt ended) that cannot be written is kept, and written with the next change.
#pragma once

#include "client/jobs/model/job.hpp"
#include "client/jobs/model/store.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace genv::jobs {

/// The state of a job, from its tasks.
enum class JobState : std::uint8_t { Waiting, Held, Running, Done, Failed, Lost, Canceled };

/// Counts of a job's tasks.
struct Progress {
    std::size_t waiting = 0, held = 0, running = 0, done = 0, failed = 0, lost = 0, canceled = 0;
};
[[nodiscard]] Progress progressOf(const Job& job);
[[nodiscard]] JobState stateOf(const Job& job);
/// The worst exit status of the tasks that have ended: 128 + N for signal N; nothing if none has.
[[nodiscard]] std::optional<int> statusOf(const Job& job);

/// Why a task that waits is not requested; the order is that in which they are checked.
enum class Blocked : std::uint8_t { Nothing, Held, Begin, Dependency, Parallel, Turn };

class Book {
  public:
    /// At most this many requests of a user wait in genvd at once.
    static constexpr std::size_t maxRequests = 8;
    static constexpr std::size_t maxTasksPerJob = 100'000;
    static constexpr std::size_t maxTasks = 1'000'000;

    /// Called after each change that was made, with the jobs that it concerns.
    using Observer =
        std::function<void(const std::set<JobNumber>& added, const std::set<JobNumber>& changed)>;

    /// Loads the jobs. The store must outlive this object. Throws Error.
    explicit Book(Store& store);
    void observe(Observer observer);

    [[nodiscard]] const std::map<JobNumber, Job>& jobs() const;
    /// Throws Error (NoSuchJob).
    [[nodiscard]] const Job& job(JobNumber number) const;
    [[nodiscard]] const Task& task(TaskName name) const;
    /// Whether a task waits, starts or runs.
    [[nodiscard]] bool isUnfinished() const;

    /// Throws Error: InvalidArgs for what cannot be, NoSuchJob for a dependency on a job that
    /// is not there, LimitsExceeded, StorageFailed.
    JobNumber submit(const Submission& submission, core::WallTime now);

    /// The tasks that should have a request in genvd now, in order: by priority, then job, then
    /// number; at most maxRequests, beside those that start or run. Whatever has a request and is
    /// not among them should be withdrawn; a task that has one is preferred to a later one of the
    /// same priority.
    [[nodiscard]] std::vector<TaskName> wanted(const std::set<TaskName>& requested,
                                               core::WallTime now) const;
    /// When wanted() can change next without a call of this object: the next begin.
    [[nodiscard]] std::optional<core::WallTime> nextBegin(core::WallTime now) const;
    [[nodiscard]] Blocked blockedBy(TaskName task, core::WallTime now) const;

    // The steps of an attempt. Each throws Error (StorageFailed) where it says so.

    /// Records the next attempt of a waiting task, before anything of it is started. Throws.
    AttemptName begin(TaskName task, const std::string& environment,
                      const std::vector<std::string>& devices, core::WallTime now);
    /// The start mark was seen.
    void started(AttemptName attempt, core::WallTime at);
    /// The attempt never began: no start mark was made, and none can be made any more. The task
    /// waits again, at no cost to its retries.
    void notStarted(AttemptName attempt);
    /// genvd refuses the request of a task for good.
    void refused(TaskName task, const std::string& reason, core::WallTime now);
    /// The attempt ended. A failure or loss makes the task wait again where its retries allow.
    void ended(AttemptName attempt, const Ending& ending);
    void used(AttemptName attempt, std::uint64_t gpuMemoryBytes);

    // What the user asks for. An empty list means all tasks of the job. Each returns the tasks that
    // it concerns, and throws Error: NoSuchJob, also for a task that is not there,
    // StorageFailed.

    /// Waiting tasks are canceled. Those that start or run get the wish: the caller ends them.
    std::vector<TaskName> cancel(JobNumber job, std::span<const std::uint32_t> tasks,
                                 core::WallTime now);
    std::vector<TaskName> hold(JobNumber job, std::span<const std::uint32_t> tasks);
    std::vector<TaskName> release(JobNumber job, std::span<const std::uint32_t> tasks);
    /// Ended tasks wait again. Those that start or run get the wish: the caller ends them. Without
    /// a list: all that did not succeed, or all if each did.
    std::vector<TaskName> requeue(JobNumber job, std::span<const std::uint32_t> tasks,
                                  core::WallTime now);

    /// Removes jobs that ended before this time, unless an unfinished job depends on them. Returns
    /// them with their tasks, so that the caller removes their logs.
    std::vector<Job> forget(core::WallTime endedBefore);
};

} // namespace genv::jobs
