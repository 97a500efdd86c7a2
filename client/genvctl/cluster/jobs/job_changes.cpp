// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/job_changes.hpp"

#include "client/genvctl/cluster/jobs/task_list.hpp"
#include "client/genvctl/cluster/slurm_programs.hpp"
#include "client/genvctl/common/exit_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace genv::ctl::cluster {

namespace {

using Change = JobSystem::Change;

bool isConcerned(const SlurmTask& task, Change change) {
    switch (change) {
    case Change::Cancel:
        return !task.hasEnded();
    case Change::Hold:
        return task.state == "waiting";
    case Change::Release:
        return task.state == "held";
    case Change::Requeue:
        break;
    }
    return !task.isWaiting();
}

// Of a whole job, those are requeued that are in the worst state.
std::vector<std::uint32_t> worstTasks(const SlurmJobRecord& job) {
    std::vector<std::uint32_t> failed;
    std::vector<std::uint32_t> running;
    std::vector<std::uint32_t> done;
    for (const auto& [number, task] : job.tasks) {
        if (!task.isWaiting())
            (task.state == "running" ? running
             : task.state == "done"  ? done
                                     : failed)
                .push_back(number);
    }
    return !failed.empty() ? failed : !running.empty() ? running : done;
}

const char* verbOf(Change change) {
    switch (change) {
    case Change::Cancel:
        return "cancel";
    case Change::Hold:
        return "hold";
    case Change::Release:
        return "release";
    case Change::Requeue:
        break;
    }
    return "requeue";
}

// The whole array where that is the same: Slurm then needs no record for each task.
bool isWholeJob(const SlurmJobRecord& job, Change change, const std::vector<std::uint32_t>& tasks) {
    const auto open = std::count_if(job.tasks.begin(), job.tasks.end(),
                                    [](const auto& entry) { return !entry.second.hasEnded(); });
    return change != Change::Requeue && tasks.size() == static_cast<std::size_t>(open);
}

std::string slurmName(const SlurmJobRecord& job, Change change,
                      const std::vector<std::uint32_t>& tasks) {
    if (!job.isArray || isWholeJob(job, change, tasks))
        return std::to_string(job.number);
    return fmt::format("{}_[{}]", job.number, taskListText(tasks));
}

} // namespace

std::vector<std::uint32_t> concernedTasks(const SlurmJobRecord& job, Change change,
                                          const std::vector<std::uint32_t>& numbers) {
    if (numbers.empty() && change == Change::Requeue)
        return worstTasks(job);
    const std::set<std::uint32_t> named(numbers.begin(), numbers.end());
    std::vector<std::uint32_t> concerned;
    for (const auto& [number, task] : job.tasks) {
        if ((named.empty() || named.contains(number)) && isConcerned(task, change))
            concerned.push_back(number);
    }
    return concerned;
}

std::vector<std::string> changeCommand(const SlurmJobRecord& job, Change change,
                                       const std::vector<std::uint32_t>& tasks) {
    std::string name = slurmName(job, change, tasks);
    if (change == Change::Cancel)
        return {"scancel", std::move(name)};
    // What root holds with "hold", only an administrator may release.
    return {"scontrol", change == Change::Hold ? "uhold" : verbOf(change), std::move(name)};
}

void changeTasks(const SlurmJobRecord& job, Change change,
                 const std::vector<std::uint32_t>& tasks) {
    try {
        SlurmQuestion(changeCommand(job, change, tasks)).answer();
    } catch (const SlurmRefusal& refusal) {
        if (refusal.isSilence())
            throw;
        const bool isForgotten = refusal.why().find("Invalid job id") != std::string::npos;
        throw Failure(ExitStatus::Failed,
                      fmt::format("Slurm refuses to {} job {}: {}", verbOf(change), job.number,
                                  refusal.why()),
                      isForgotten
                          ? "Slurm has forgotten the job; submit it again."
                          : fmt::format("\"genvctl job {}\" describes the job.", job.number));
    }
}

} // namespace genv::ctl::cluster
