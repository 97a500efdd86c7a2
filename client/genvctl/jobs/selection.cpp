// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/selection.hpp"

#include "client/genvctl/common/exit_status.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::ctl {

namespace {

int statusOf(const std::string& state, std::int32_t status) {
    if (state == "done")
        return 0;
    return status > 0 ? status : static_cast<int>(ExitStatus::Failed);
}

std::vector<std::uint32_t> numbersOf(JobSystem& system, const NamedTasks& named) {
    if (named.isOne())
        return {named.from};
    std::vector<std::uint32_t> numbers;
    for (const jobs::TaskRow& task : describeTasks(system, named))
        numbers.push_back(task.number);
    return numbers;
}

} // namespace

std::vector<jobs::TaskRow> describeTasks(JobSystem& system, const NamedTasks& named) {
    if (named.isOne())
        return system.tasks(named.job, {named.from});
    std::vector<jobs::TaskRow> tasks = system.tasks(named.job, {});
    std::erase_if(tasks, [&](const jobs::TaskRow& task) { return !named.contains(task.number); });
    if (tasks.empty())
        throw Failure(
            ExitStatus::Failed,
            fmt::format("job {} has no task from {} to {}", named.job, named.from, named.to),
            fmt::format("\"genvctl job {}\" describes the job.", named.job));
    return tasks;
}

std::vector<JobTasks> tasksByJob(JobSystem& system, const std::vector<NamedTasks>& named) {
    std::vector<JobTasks> all;
    std::vector<jobs::JobNumber> whole;
    for (const NamedTasks& tasks : named) {
        const auto found = std::ranges::find(all, tasks.job, &JobTasks::job);
        JobTasks& job = found == all.end() ? all.emplace_back(JobTasks{tasks.job, {}}) : *found;
        if (tasks.isWhole) {
            whole.push_back(tasks.job);
            continue;
        }
        const auto numbers = numbersOf(system, tasks);
        job.tasks.insert(job.tasks.end(), numbers.begin(), numbers.end());
    }
    for (JobTasks& job : all) {
        if (std::ranges::find(whole, job.job) != whole.end())
            job.tasks.clear();
    }
    return all;
}

int statusOf(const jobs::JobRow& job) {
    return statusOf(job.state, job.status);
}

int statusOf(const jobs::TaskRow& task) {
    return statusOf(task.state, task.status);
}

void endWith(int status) {
    if (status != 0)
        throw Failure(static_cast<ExitStatus>(status), "");
}

} // namespace genv::ctl
