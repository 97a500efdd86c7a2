// SPDX-License-Identifier: LGPL-2.1-or-later
// The words of jobs: a job has one task or, as an array, many; each run of a task is an attempt.
// Pure values, without the bus, files or clocks. What a command is, its folder and its variables
// do not decide when it runs; they stay in the database (Submission) until an attempt needs them.
#pragma once

#include "core/base/time.hpp"

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::jobs {

using JobNumber = std::uint32_t; ///< from 1; never used again

/// Names a task: `17.3` is the task with number 3 of job 17. The only task of a job that is no
/// array has number 0.
struct TaskName {
    JobNumber job = 0;
    std::uint32_t number = 0;

    auto operator<=>(const TaskName&) const = default;
};

/// Names one run of a task, from 1. Names its files and its unit.
struct AttemptName {
    TaskName task;
    std::uint32_t attempt = 0;

    auto operator<=>(const AttemptName&) const = default;
};

/// Which end of a job lets another one start.
enum class Condition : std::uint8_t {
    Ok,   ///< every task succeeded
    Fail, ///< a task failed or was lost
    Any,  ///< all tasks ended, also as canceled
};

struct Dependency {
    JobNumber job = 0;
    Condition condition = Condition::Ok;

    bool operator==(const Dependency&) const = default;
};

/// What decides when the tasks of a job start.
struct Plan {
    std::int32_t priority = 0;
    std::optional<core::WallTime> begin{};
    std::uint32_t parallel = 0; ///< tasks that may run at once; 0 = any number
    std::uint32_t retries = 0;  ///< further attempts of a task that fails or is lost
    std::vector<Dependency> after{};

    bool operator==(const Plan&) const = default;
};

/// A task of an array: its number and what "{}" stands for. A job that is no array has one, with
/// number 0 and an empty value.
struct TaskValue {
    std::uint32_t number = 0;
    std::string value;
};

/// A job as its user submits it. Texts may hold any byte but 0.
struct Submission {
    std::string name;
    std::vector<std::string> command;
    std::string folder;
    std::vector<std::string> environment; ///< NAME=VALUE
    std::uint32_t umask = 022;
    std::string output;            ///< path; empty: a log beside the database
    std::string request;           ///< options of Activate, as JSON (files/request.hpp)
    std::uint32_t gpus = 0;        ///< how many the request asks for, to be shown
    std::uint32_t cpus = 0;        ///< 0 = no limit
    std::uint64_t memoryBytes = 0; ///< 0 = no limit
    bool hold = false;
    bool isArray = false;
    Plan plan;
    std::vector<TaskValue> tasks;
};

enum class TaskState : std::uint8_t {
    Waiting,  ///< for its turn, its time, another job, a GPU, or its release
    Starting, ///< its attempt is recorded, and its unit may start
    Running,  ///< its start mark was seen
    Done,     ///< exited with 0
    Failed,   ///< exited with another status or by a signal, or could not be started
    Lost,     ///< began, and nobody saw its end
    Canceled,
};

[[nodiscard]] constexpr bool hasEnded(TaskState state) {
    return state >= TaskState::Done;
}

/// What becomes of a running task once it has been ended.
enum class Wish : std::uint8_t { None, Cancel, Requeue };

/// One run of a task, as the database keeps it.
struct Attempt {
    std::string environment{};               ///< id; empty once the attempt has ended
    std::vector<std::string> devices{};      ///< UUIDs
    std::optional<core::WallTime> granted{}; ///< when it was recorded, with its GPUs
    std::optional<core::WallTime> started{}; ///< when its start mark was seen
    std::optional<core::WallTime> ended{};
    int status = -1; ///< exit status; -1 = none: a signal, lost, or not yet ended
    int signal = 0;  ///< the signal that ended it; 0 = none

    bool operator==(const Attempt&) const = default;
};

/// What is known about a task that was started or canceled.
struct TaskRecord {
    Attempt last{};                    ///< the newest attempt
    std::chrono::seconds gpuTime{0};   ///< GPUs times seconds, of all attempts
    std::uint64_t peakMemoryBytes = 0; ///< the most GPU memory that a sample showed; 0 = unknown
    std::optional<core::WallTime> ended{}; ///< when the task ended or was canceled
    std::string reason{}; ///< why it failed or was canceled, in words; empty if the status says it

    bool operator==(const TaskRecord&) const = default;
};

/// A task as the database holds it. Thousands wait, so that a waiting one is small, and canceled
/// ones share their record.
struct Task {
    std::uint32_t number = 0;
    TaskState state = TaskState::Waiting;
    Wish wish = Wish::None;
    bool held = false;             ///< only of a waiting task
    std::uint32_t attempts = 0;    ///< attempts that began, with a start mark
    std::uint32_t lastAttempt = 0; ///< number of the newest attempt, also one that never began
    std::uint32_t failures = 0;    ///< attempts that failed or were lost since the last requeue

    /// Returns an empty record if there is none.
    [[nodiscard]] const TaskRecord& record() const;
    void setRecord(TaskRecord record);
    /// Gives this task the record of another one.
    void shareRecord(const Task& other) { record_ = other.record_; }

    /// Whether it starts or runs.
    [[nodiscard]] bool isOpen() const {
        return state == TaskState::Starting || state == TaskState::Running;
    }
    bool operator==(const Task& other) const;

  private:
    std::shared_ptr<const TaskRecord> record_;
};

/// How an attempt ended.
struct AttemptEnding {
    int status = -1; ///< -1: not known, the attempt is lost
    int signal = 0;
    std::string reason{}; ///< for an attempt that could not run its command; else empty
    core::WallTime at{};

    [[nodiscard]] bool isLost() const { return status < 0 && signal == 0; }
    [[nodiscard]] bool isSuccess() const { return status == 0 && signal == 0; }
};

/// Counts of a job's tasks.
struct Progress {
    std::size_t waiting = 0;
    std::size_t held = 0;    ///< waiting for their release; not counted as waiting
    std::size_t running = 0; ///< starting ones included
    std::size_t done = 0;
    std::size_t failed = 0;
    std::size_t lost = 0;
    std::size_t canceled = 0;

    bool operator==(const Progress&) const = default;
};

/// What of a job the decisions and the lists need. The rest stays in the database.
struct Job {
    JobNumber number = 0;
    std::string name;
    std::string command; ///< for lists: its words, escaped and shortened
    bool isArray = false;
    std::uint32_t gpus = 0;
    Plan plan;
    core::WallTime submitted{};
    std::vector<Task> tasks; ///< by number
    Progress progress;       ///< kept by the book
};

} // namespace genv::jobs
