// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/model/job_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::jobs {

void count(Progress& progress, const Task& task, std::ptrdiff_t by) {
    const auto place = [&]() -> std::size_t& {
        switch (task.state) {
        case TaskState::Waiting:
            return task.held ? progress.held : progress.waiting;
        case TaskState::Starting:
        case TaskState::Running:
            return progress.running;
        case TaskState::Done:
            return progress.done;
        case TaskState::Failed:
            return progress.failed;
        case TaskState::Lost:
            return progress.lost;
        case TaskState::Canceled:
            break;
        }
        return progress.canceled;
    };
    place() += static_cast<std::size_t>(by);
}

Progress progressOf(const Job& job) {
    Progress progress;
    for (const Task& task : job.tasks)
        count(progress, task, 1);
    return progress;
}

bool isUnfinished(const Job& job) {
    return job.progress.running + job.progress.waiting + job.progress.held > 0;
}

JobState stateOf(const Job& job) {
    const Progress& progress = job.progress;
    if (progress.running > 0)
        return JobState::Running;
    if (progress.waiting > 0)
        return JobState::Waiting;
    if (progress.held > 0)
        return JobState::Held;
    if (progress.failed > 0)
        return JobState::Failed;
    if (progress.lost > 0)
        return JobState::Lost;
    return progress.canceled > 0 ? JobState::Canceled : JobState::Done;
}

std::optional<int> statusOf(const Task& task) {
    if (!hasEnded(task.state))
        return std::nullopt;
    if (task.state == TaskState::Done)
        return 0;
    const Attempt& attempt = task.record().last;
    if (attempt.signal > 0)
        return 128 + attempt.signal;
    return std::max(attempt.status, 1);
}

std::optional<int> statusOf(const Job& job) {
    std::optional<int> worst;
    for (const Task& task : job.tasks)
        worst = std::max(worst, statusOf(task));
    return worst;
}

std::optional<core::WallTime> startOf(const Job& job) {
    std::optional<core::WallTime> first;
    for (const Task& task : job.tasks)
        if (const auto& started = task.record().last.started)
            first = first ? std::min(*first, *started) : *started;
    return first;
}

std::optional<core::WallTime> endOf(const Job& job) {
    std::optional<core::WallTime> last;
    if (!isUnfinished(job))
        for (const Task& task : job.tasks)
            last = std::max(last, task.record().ended);
    return last;
}

std::string textOf(const Job& job, const Task& task) {
    return job.isArray ? fmt::format("{}.{}", job.number, task.number) : std::to_string(job.number);
}

} // namespace genv::jobs
