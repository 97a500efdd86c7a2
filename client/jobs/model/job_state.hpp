// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tasks of a job make of the job: its state, its times and its exit status.
#pragma once

#include "client/jobs/model/job.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace genv::jobs {

enum class JobState : std::uint8_t {
    Waiting,  ///< a task waits, and none runs
    Held,     ///< all tasks that wait are held, and none runs
    Running,  ///< a task starts or runs
    Done,     ///< every task succeeded
    Failed,   ///< all tasks ended, and one failed
    Lost,     ///< all tasks ended, and one was lost, but none failed
    Canceled, ///< all tasks ended, and one was canceled, but the others succeeded
};

/// Adds a task to the counts, or removes it if `by` is -1.
void count(Progress& progress, const Task& task, std::ptrdiff_t by);
/// Counts the tasks.
[[nodiscard]] Progress progressOf(const Job& job);
/// These read only `progress`, which a job in the book has.
[[nodiscard]] JobState stateOf(const Job& job);
[[nodiscard]] bool isUnfinished(const Job& job);

/// The worst exit status of the tasks that have ended; nothing if none has. A signal N counts as
/// 128 + N, and a task that has no status as 1: it was refused, lost or canceled before it ran.
[[nodiscard]] std::optional<int> statusOf(const Job& job);
/// The exit status of one task in the same form; nothing if it has not ended.
[[nodiscard]] std::optional<int> statusOf(const Task& task);
/// When the first of the newest attempts started; nothing if none did.
[[nodiscard]] std::optional<core::WallTime> startOf(const Job& job);
/// When the last task ended; nothing while a task waits or runs.
[[nodiscard]] std::optional<core::WallTime> endOf(const Job& job);

/// "17.3", or "17" for the only task of a job that is no array.
[[nodiscard]] std::string textOf(const Job& job, const Task& task);

} // namespace genv::jobs
