// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/job_records.hpp"

#include "client/genvctl/cluster/hostlist.hpp"
#include "client/genvctl/cluster/job_gres.hpp"
#include "client/genvctl/cluster/jobs/job_states.hpp"
#include "client/genvctl/cluster/jobs/task_list.hpp"
#include "client/genvctl/cluster/json_fields.hpp"
#include "client/genvctl/cluster/row_reader.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

namespace genv::ctl::cluster {

namespace {

using nlohmann::json;
using namespace fields;

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr int signalStatus = 128;

std::uint64_t microsecondsIn(const json& record, const char* field) {
    const auto time = timeIn(record, field);
    return time ? static_cast<std::uint64_t>(
                      std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch())
                          .count()) *
                      microsecondsPerSecond
                : 0;
}

std::uint32_t countIn(const json& record, const char* field) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(numberIn(record, field).value_or(0), UINT32_MAX));
}

void setEnd(SlurmTask& task, int status, int signal) {
    task.signal = signal;
    task.status = signal > 0 ? signalStatus + signal : status;
    if (task.state != "done")
        task.status = std::max(task.status, 1);
}

// Up to 22.05, the status as of wait(2); later, an object.
void readExitCode(const json& record, SlurmTask& task) {
    const auto code = record.find("exit_code");
    if (code == record.end())
        return;
    if (code->is_number_unsigned()) {
        const auto status = static_cast<int>(code->get<std::uint64_t>() & 0xffff);
        setEnd(task, WEXITSTATUS(status), WTERMSIG(status));
        return;
    }
    if (!code->is_object())
        return;
    const auto signal = code->find("signal");
    std::uint64_t number = 0;
    if (signal != code->end() && signal->is_object())
        number = numberIn(*signal, "id").value_or(numberIn(*signal, "signal_id").value_or(0));
    setEnd(task, static_cast<int>(countIn(*code, "return_code") & 0xff),
           static_cast<int>(number & 0x7f));
}

void readTimes(const json& record, SlurmTask& task) {
    const std::uint64_t start = microsecondsIn(record, "start_time");
    if (task.isWaiting()) {
        task.expected = start;
        return;
    }
    task.started = start;
    if (!task.hasEnded())
        return; // its end is that of its time limit
    task.ended = microsecondsIn(record, "end_time");
    // A job that never started gets both times at its end.
    if (task.state == "canceled" && task.started >= task.ended)
        task.started = 0;
}

// Up to 22.05, a pattern. Later, the path; of tasks that wait, with a number of all of them.
std::string outputIn(const json& record) {
    constexpr std::string_view anyTask = "4294967294";
    std::string text = textIn(record, "standard_output");
    const auto code = record.find("exit_code");
    if (code == record.end() || !code->is_object())
        return text;
    std::string pattern;
    for (std::size_t at = 0; at < text.size();) {
        const bool isTask = text.compare(at, anyTask.size(), anyTask) == 0;
        pattern += isTask ? "%a" : text[at] == '%' ? "%%" : std::string(1, text[at]);
        at += isTask ? anyTask.size() : 1;
    }
    return pattern;
}

void readCommonFields(const json& record, SlurmJobRecord& job) {
    job.uid = countIn(record, "user_id");
    job.user = textIn(record, "user_name");
    if (job.user.empty())
        job.user = std::to_string(job.uid);
    job.name = textIn(record, "name");
    job.command = textIn(record, "command");
    job.folder = textIn(record, "current_working_directory");
    const WantedGres wanted = wantedBy(record);
    job.gpus = std::max<std::uint32_t>(wanted.gpus, wanted.shards > 0 ? 1 : 0);
    job.submitted = microsecondsIn(record, "submit_time");
    job.parallel = std::max(job.parallel, countIn(record, "array_max_tasks"));
    job.cpus = countIn(record, "cpus_per_task");
    job.memoryBytes = numberIn(record, "memory_per_node").value_or(0) * mebibyte;
    if (const auto minutes = numberIn(record, "time_limit"); minutes && *minutes < UINT32_MAX)
        job.lifetimeSeconds = *minutes * 60;
    if (auto after = readDependencies(textIn(record, "dependency")); !after.empty())
        job.after = std::move(after);
}

SlurmTask readTask(const json& record, jobs::JobNumber id, SlurmJobRecord& job) {
    const std::set<std::string> states = wordsIn(record, "job_state");
    const std::string reason = textIn(record, "state_reason");
    const auto state = stateWord(states, reason);
    if (!state)
        throw UnknownShape(fmt::format("job {} is in the state {}", id,
                                       states.empty() ? "(none)" : *states.begin()));
    SlurmTask task;
    task.id = id;
    task.state = *state;
    readTimes(record, task);
    task.output = outputIn(record);
    task.restarts = countIn(record, "restart_cnt");
    if (task.isWaiting()) {
        if (reason == "BeginTime")
            job.begin = std::exchange(task.expected, 0);
        task.reason = whyWaiting(job, reason);
        return task;
    }
    const std::string nodes = textIn(record, "nodes");
    task.node = textIn(record, "batch_host");
    for (const JobGpu& gpu : gpusOf(record, nodes))
        task.devices.push_back(gpu.gres.index ? fmt::format("{}:{}", gpu.node, *gpu.gres.index)
                                              : gpu.node);
    if (task.hasEnded()) {
        readExitCode(record, task);
        task.reason = howEnded(task, states, reason);
    }
    return task;
}

// A job that belongs to an array and has no number in it stands for all tasks that wait.
std::vector<std::uint32_t> tasksOf(const json& record, bool isArray, const SlurmTask& task) {
    if (!isArray)
        return {0};
    if (const auto number = numberIn(record, "array_task_id"); number && *number < UINT32_MAX - 1)
        return {static_cast<std::uint32_t>(*number)};
    const std::string text = textIn(record, "array_task_string");
    if (text.empty() && task.hasEnded())
        return {};
    const auto list = parseTaskList(text);
    if (!list)
        throw UnknownShape(fmt::format("an array has the tasks \"{}\"", shown(text)));
    return list->numbers;
}

void addSlurmJob(const json& record, SlurmJobs& jobs) {
    const auto id = numberIn(record, "job_id");
    if (!id || *id == 0 || *id > UINT32_MAX)
        throw UnknownShape("a job in the output of squeue --json has no job_id");
    const auto own = static_cast<jobs::JobNumber>(*id);
    const std::uint32_t array = countIn(record, "array_job_id");
    SlurmJobRecord& job = jobs[array != 0 ? array : own];
    job.number = array != 0 ? array : own;
    job.isArray = array != 0;
    readCommonFields(record, job);
    const SlurmTask task = readTask(record, own, job);
    const std::vector<std::uint32_t> numbers = tasksOf(record, job.isArray, task);
    if (numbers.empty())
        job.rest = task;
    for (const std::uint32_t number : numbers)
        job.tasks.insert_or_assign(number, task);
}

std::optional<jobs::Condition> conditionOf(std::string_view word) {
    if (word == "afterok")
        return jobs::Condition::Ok;
    if (word == "afternotok")
        return jobs::Condition::Fail;
    if (word == "afterany")
        return jobs::Condition::Any;
    return std::nullopt;
}

} // namespace

std::vector<std::string> rememberedJobsCommand() {
    return {"squeue", "--json", "--states=all"};
}

SlurmJobs readSlurmJobs(std::string_view squeue) {
    const RowReader<json> reader{"squeue",
                                 "\"jobs\"",
                                 {{"jobs"},
                                  {"job_id",
                                   "job_state",
                                   "name",
                                   "user_id",
                                   "user_name",
                                   "nodes",
                                   "batch_host",
                                   "gres_detail",
                                   "node_count",
                                   "tasks",
                                   "sockets_per_node",
                                   "tres_per_job",
                                   "tres_per_node",
                                   "tres_per_socket",
                                   "tres_per_task",
                                   "state_reason",
                                   "submit_time",
                                   "start_time",
                                   "end_time",
                                   "exit_code",
                                   "command",
                                   "dependency",
                                   "restart_cnt",
                                   "standard_output",
                                   "array_job_id",
                                   "array_task_id",
                                   "array_task_string",
                                   "array_max_tasks",
                                   "cpus_per_task",
                                   "memory_per_node",
                                   "time_limit",
                                   "current_working_directory"}},
                                 [](const std::string& /*list*/, const json& record,
                                    std::vector<json>& rows) { rows.push_back(record); }};
    SlurmJobs jobs;
    for (const json& record : reader.readWhatever(squeue))
        addSlurmJob(record, jobs);
    return jobs;
}

std::vector<jobs::Dependency> readDependencies(std::string_view text) {
    std::vector<jobs::Dependency> after;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(",?"), text.size());
        std::string_view one = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t colon = std::min(one.find(':'), one.size());
        const auto condition = conditionOf(one.substr(0, colon));
        one.remove_prefix(std::min(colon + 1, one.size()));
        const auto job = parseNumber(one.substr(0, one.find_first_not_of("0123456789")));
        if (condition && job)
            after.push_back({*job, *condition});
    }
    return after;
}

} // namespace genv::ctl::cluster
