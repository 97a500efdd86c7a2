// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/job_text.hpp"

#include "client/genvctl/jobs/script.hpp"
#include "client/genvctl/objects/job.hpp"
#include "client/genvctl/objects/schema.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/remote/ssh/ssh.hpp"
#include "core/base/bytes.hpp"
#include "core/base/duration.hpp"
#include "core/base/time.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace genv::ctl {

namespace {

std::string exactTime(std::uint64_t time) {
    return core::nameTime(core::fromMicroseconds(time));
}

/// Lines "Name: value".
class JobReport {
  public:
    void add(std::string_view name, std::string_view value) {
        text_ += fmt::format("{:<13}{}\n", fmt::format("{}:", name), shown(value));
    }
    void addIfAny(std::string_view name, const std::string& value) {
        if (!value.empty())
            add(name, value);
    }
    void addTime(std::string_view name, std::uint64_t time) {
        if (time != 0)
            add(name, exactTime(time));
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

std::string commandText(const std::vector<std::string>& words) {
    if (const auto script = scriptWords(words))
        return fmt::format("{} (script)", remote::commandLine(*script));
    return remote::commandLine(words);
}

std::string gpusText(const jobs::JobDescription& job) {
    const jobs::GpuRequest& request = job.request;
    std::string text = std::to_string(job.gpus);
    if (!request.indices.empty())
        text += fmt::format(" (indices {})", joined(request.indices, ","));
    if (!request.uuids.empty())
        text += fmt::format(" ({})", joined(request.uuids, ","));
    if (request.model)
        text += fmt::format(", model {}", *request.model);
    if (request.gpuMemoryBytes)
        text += fmt::format(", {} of each", amount(*request.gpuMemoryBytes));
    if (request.preemptible.value_or("no") != "no")
        text += ", on loan";
    if (request.lifetimeSeconds)
        text += fmt::format(", for at most {}",
                            spanText(std::chrono::seconds(*request.lifetimeSeconds)));
    return job.isArray ? text + " for each task" : text;
}

const char* wordOf(jobs::Condition condition) {
    return condition == jobs::Condition::Any    ? "any"
           : condition == jobs::Condition::Fail ? "fail"
                                                : "ok";
}

std::string afterText(const std::vector<jobs::Dependency>& after) {
    std::vector<std::string> names;
    for (const jobs::Dependency& dependency : after)
        names.push_back(fmt::format("{}:{}", dependency.job, wordOf(dependency.condition)));
    return joined(names, ", ");
}

void addPlan(JobReport& report, const jobs::JobDescription& job) {
    report.addIfAny("After", afterText(job.after));
    report.addTime("Begin", job.begin);
    if (job.priority != 0)
        report.add("Priority", std::to_string(job.priority));
    if (job.retries != 0)
        report.add("Retries", std::to_string(job.retries));
    if (job.parallel != 0)
        report.add("At once", core::counted(job.parallel, "task"));
    if (job.cpus != 0)
        report.add("Processors", std::to_string(job.cpus));
    if (job.memory != 0)
        report.add("Memory", core::nameMemory({job.memory}));
}

std::string gpuTimeText(std::uint64_t seconds) {
    return seconds == 0 ? "" : spanText(std::chrono::seconds(seconds));
}

void addTask(JobReport& report, const jobs::TaskRow& task) {
    report.addIfAny("Environment", task.environment);
    report.addIfAny("Devices", joined(task.devices, ", "));
    if (task.attempts > 1)
        report.add("Attempts", std::to_string(task.attempts));
    if (task.status >= 0)
        report.add("Status", std::to_string(task.status));
    report.addIfAny("GPU time", gpuTimeText(task.gpuSeconds));
    if (task.peakMemory != 0)
        report.add("GPU memory", "at most " + core::nameMemory({task.peakMemory}));
    report.addIfAny("Log", task.log);
}

void addTimes(JobReport& report, std::uint64_t started, std::uint64_t ended, Time now) {
    report.addTime("Started", started);
    report.addTime("Ended", ended);
    report.addIfAny("Time", runTimeText(started, ended, now));
}

Json statusOrNull(std::int32_t status) {
    return status < 0 ? Json() : Json(status);
}

} // namespace

Table jobsTable(const std::vector<jobs::JobRow>& jobs, Time now) {
    Table table({{"JOB", 6}, {"NAME", 16}, {"GPUS", 6}, {"TIME", 10}, {"STATE", 0}});
    for (const jobs::JobRow& job : jobs)
        table.add({std::to_string(job.number), nameText(job), std::to_string(job.gpus),
                   runTimeText(job.started, job.ended, now), stateText(job, now)});
    return table;
}

Table jobsTable(const std::vector<MachineJob>& jobs, Time now) {
    constexpr std::size_t shortId = 8;
    Table table(
        {{"MACHINE", 9, 1}, {"JOB", 6}, {"NAME", 16}, {"GPUS", 6}, {"TIME", 10}, {"STATE", 0}});
    for (const MachineJob& job : jobs)
        table.add({job.machine.substr(0, shortId), std::to_string(job.number), nameText(job),
                   std::to_string(job.gpus), runTimeText(job.started, job.ended, now),
                   stateText(job, now)});
    return table;
}

Table tasksTable(const std::vector<jobs::TaskRow>& tasks, Time now) {
    Table table({{"TASK", 7}, {"VALUE", 16}, {"TIME", 10}, {"STATE", 0}});
    for (const jobs::TaskRow& task : tasks)
        table.add({std::to_string(task.number), task.value,
                   runTimeText(task.started, task.ended, now), stateText(task)});
    return table;
}

std::string jobReport(const jobs::JobDescription& job, const std::vector<jobs::TaskRow>& tasks,
                      Time now) {
    JobReport report;
    report.add("Job", std::to_string(job.number));
    report.addIfAny("Name", job.name);
    report.add("State", stateText(job, now));
    report.add("Command", commandText(job.words));
    report.add("Folder", job.folder);
    report.add("GPUs", gpusText(job));
    addPlan(report, job);
    report.addTime("Submitted", job.submitted);
    addTimes(report, job.started, job.ended, now);
    if (!job.isArray && !tasks.empty())
        addTask(report, tasks.front());
    if (job.isArray) {
        std::uint64_t gpuSeconds = 0;
        for (const jobs::TaskRow& task : tasks)
            gpuSeconds += task.gpuSeconds;
        report.addIfAny("GPU time", gpuTimeText(gpuSeconds));
    }
    return report.take();
}

std::string taskReport(const jobs::JobDescription& job, const jobs::TaskRow& task, Time now) {
    JobReport report;
    report.add("Task", fmt::format("{}.{}", job.number, task.number));
    report.addIfAny("Name", job.name);
    report.add("Value", task.value);
    report.add("State", stateText(task));
    report.add("Command", commandText(job.words));
    report.add("Folder", job.folder);
    addTimes(report, task.started, task.ended, now);
    addTask(report, task);
    return report.take();
}

Json toJson(const jobs::JobRow& job) {
    return object<schema::job>({{"job", job.number},
                                {"name", orNull(job.name)},
                                {"state", job.state},
                                {"reason", orNull(job.reason)},
                                {"expected_start", orNull(job.expected)},
                                {"command", orNull(job.command)},
                                {"gpus", job.gpus},
                                {"array", job.isArray},
                                {"tasks", job.tasks},
                                {"waiting", job.waiting},
                                {"running", job.running},
                                {"done", job.done},
                                {"failed", job.failed},
                                {"canceled", job.canceled},
                                {"submitted", orNull(job.submitted)},
                                {"started", orNull(job.started)},
                                {"ended", orNull(job.ended)},
                                {"status", statusOrNull(job.status)}});
}

Json toJson(const MachineJob& job) {
    Json json = toJson(static_cast<const jobs::JobRow&>(job));
    fill<schema::job>(json, {{"machine", job.machine}});
    return json;
}

Json toJson(const jobs::JobDescription& job, const std::vector<jobs::TaskRow>& tasks) {
    Json json = toJson(static_cast<const jobs::JobRow&>(job));
    Json after = Json::array();
    for (const jobs::Dependency& dependency : job.after)
        after.push_back(object<schema::dependency>(
            {{"job", dependency.job}, {"condition", wordOf(dependency.condition)}}));
    Json list = Json::array();
    for (const jobs::TaskRow& task : tasks)
        list.push_back(toJson(task));
    fill<schema::job>(json, {{"words", job.words},
                             {"folder", orNull(job.folder)},
                             {"output", orNull(job.output)},
                             {"after", std::move(after)},
                             {"begin", orNull(job.begin)},
                             {"priority", job.priority},
                             {"retries", job.retries},
                             {"parallel", orNull(job.parallel)},
                             {"cpus", orNull(job.cpus)},
                             {"memory_bytes", orNull(job.memory)},
                             {"model", orNull(job.request.model)},
                             {"gpu_memory_bytes", orNull(job.request.gpuMemoryBytes)},
                             {"preemptible", job.request.preemptible.value_or("no")},
                             {"lifetime_seconds", orNull(job.request.lifetimeSeconds)},
                             {"task_list", std::move(list)}});
    return json;
}

Json toJson(const jobs::TaskRow& task) {
    return object<schema::task>({{"task", task.number},
                                 {"value", orNull(task.value)},
                                 {"state", task.state},
                                 {"reason", orNull(task.reason)},
                                 {"attempts", task.attempts},
                                 {"environment", orNull(task.environment)},
                                 {"devices", task.devices},
                                 {"started", orNull(task.started)},
                                 {"ended", orNull(task.ended)},
                                 {"status", statusOrNull(task.status)},
                                 {"signal", task.signal == 0 ? Json(nullptr) : Json(task.signal)},
                                 {"gpu_seconds", task.gpuSeconds},
                                 {"peak_memory_bytes", orNull(task.peakMemory)},
                                 {"log", orNull(task.log)}});
}

} // namespace genv::ctl
