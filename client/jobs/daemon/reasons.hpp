// SPDX-License-Identifier: LGPL-2.1-or-later
// Why a task waits, or how it ended, in words.
#pragma once

#include "client/jobs/daemon/service_link.hpp"
#include "client/jobs/model/book.hpp"

#include <map>
#include <optional>
#include <string>

namespace genv::jobs {

/// The facts about waiting that are not in the book.
struct WaitingFacts {
    bool hasManager = true;                   ///< the user's manager runs
    bool hasService = true;                   ///< genvd runs
    std::map<TaskName, std::string> requests; ///< task to the environment of its request
    std::map<TaskName, std::string> delayed;  ///< tasks whose request is tried again later
    RequestWaits queue;
    core::WallTime now;

    /// The place of a task's request in genvd's queue; null if it has none.
    [[nodiscard]] const RequestWait* entryOf(TaskName task) const;
};

/// The state of a task, as that of a job that has only this one.
[[nodiscard]] JobState stateOf(const Task& task);
/// The word for a state on the bus.
[[nodiscard]] const char* wordOf(JobState state);

/// Returns an empty text if the state says it.
[[nodiscard]] std::string reasonOf(const Book& book, TaskName task, const WaitingFacts& facts);

/// The reason of a job: that of its first task in the state that the job has.
[[nodiscard]] std::string reasonOf(const Book& book, const Job& job, const WaitingFacts& facts);

/// The earliest expected start of the tasks of a job that wait.
[[nodiscard]] std::optional<core::WallTime> expectedStart(const Job& job,
                                                          const WaitingFacts& facts);

} // namespace genv::jobs
