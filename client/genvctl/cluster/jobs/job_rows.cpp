// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/job_rows.hpp"

#include "client/genvctl/cluster/jobs/output_path.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace genv::ctl::cluster {

namespace {

// The state of a job is the first of these that one of its tasks has, as genv-jobs decides it.
constexpr std::array stateOrder{"running", "waiting", "held", "failed", "lost", "canceled", "done"};

std::uint32_t& countOf(jobs::JobRow& row, const SlurmTask& task) {
    if (task.isWaiting())
        return row.waiting;
    if (task.state == "running")
        return row.running;
    if (task.state == "done")
        return row.done;
    return task.state == "canceled" ? row.canceled : row.failed;
}

std::uint64_t earlier(std::uint64_t a, std::uint64_t b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

void setState(const SlurmJobRecord& job, jobs::JobRow& row) {
    for (const char* state : stateOrder) {
        for (const auto& [number, task] : job.tasks) {
            if (task.state != state)
                continue;
            row.state = state;
            row.reason = task.reason;
            return;
        }
    }
}

OutputNames outputNames(const SlurmJobRecord& job, std::uint32_t number, const SlurmTask& task) {
    OutputNames names;
    names.id = task.id;
    names.job = job.number;
    if (job.isArray)
        names.task = number;
    names.user = job.user;
    names.name = job.name;
    names.node = task.node;
    names.folder = job.folder;
    return names;
}

} // namespace

jobs::JobRow jobRow(const SlurmJobRecord& job) {
    jobs::JobRow row;
    row.number = job.number;
    row.name = job.name;
    row.command = core::printable(job.command);
    row.gpus = job.gpus;
    row.isArray = job.isArray;
    row.tasks = static_cast<std::uint32_t>(job.tasks.size());
    row.submitted = job.submitted;
    for (const auto& [number, task] : job.tasks) {
        ++countOf(row, task);
        row.expected = earlier(row.expected, task.expected);
        row.started = earlier(row.started, task.started);
        row.status = std::max(row.status, task.status);
    }
    row.ended = endOf(job);
    setState(job, row);
    return row;
}

jobs::JobDescription jobDescription(const SlurmJobRecord& job, const BatchedWork& work) {
    jobs::JobDescription description;
    static_cast<jobs::JobRow&>(description) = jobRow(job);
    description.words = work.words;
    if (description.words.empty())
        description.words = {job.command.empty() ? job.name : job.command};
    description.folder = job.folder;
    if (!job.isArray && !job.tasks.empty() && !job.tasks.begin()->second.output.empty())
        description.output = taskRow(job, 0, work, 0).log;
    description.after = job.after;
    description.begin = job.begin;
    description.parallel = job.parallel;
    description.cpus = job.cpus;
    description.memory = job.memoryBytes;
    description.request.gpus = job.gpus;
    description.request.lifetimeSeconds = job.lifetimeSeconds;
    return description;
}

jobs::TaskRow taskRow(const SlurmJobRecord& job, std::uint32_t number, const BatchedWork& work,
                      std::uint64_t now) {
    const SlurmTask& task = job.tasks.at(number);
    jobs::TaskRow row;
    row.number = number;
    if (const auto value = work.values.find(number); value != work.values.end())
        row.value = value->second;
    else if (job.isArray)
        row.value = std::to_string(number);
    row.state = task.state;
    row.reason = task.reason;
    row.attempts = task.restarts + (task.started != 0 ? 1 : 0);
    if (task.state == "running")
        row.environment = "slurm-" + std::to_string(task.id);
    row.devices = task.devices;
    row.started = task.started;
    row.ended = task.ended;
    row.status = task.status;
    row.signal = task.signal;
    const std::uint64_t end = task.ended != 0 ? task.ended : now;
    if (task.started != 0 && end > task.started)
        row.gpuSeconds = (end - task.started) / microsecondsPerSecond * job.gpus;
    row.log = outputPathOf(task.output, outputNames(job, number, task));
    return row;
}

bool isMet(const SlurmJobRecord& job, jobs::Condition condition) {
    const jobs::JobRow row = jobRow(job);
    if (!row.hasEnded())
        return false;
    const bool isMet = condition == jobs::Condition::Any ||
                       (condition == jobs::Condition::Ok) == (row.failed + row.canceled == 0);
    const bool isCanceledOnly =
        condition == jobs::Condition::Fail && row.failed == 0 && row.canceled > 0;
    if (!isMet || isCanceledOnly)
        throw Failure(ExitStatus::Failed,
                      fmt::format("the job would never start: job {} {}", job.number,
                                  row.state == "done" ? "did not fail" : "did not succeed"),
                      fmt::format("\"genvctl job {}\" describes that job.", job.number));
    return true;
}

std::uint64_t endOf(const SlurmJobRecord& job) {
    std::uint64_t last = 0;
    for (const auto& [number, task] : job.tasks) {
        if (!task.hasEnded())
            return 0;
        last = std::max(last, task.ended);
    }
    return last;
}

} // namespace genv::ctl::cluster
