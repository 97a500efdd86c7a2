// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/store/stored_rows.hpp"

#include "client/jobs/model/job_state.hpp"
#include "client/jobs/model/submission.hpp"

#include <algorithm>

namespace genv::jobs {

namespace {

Plan readPlan(Row& row) {
    Plan plan;
    plan.priority = row.integer<std::int32_t>();
    plan.begin = row.time();
    plan.parallel = row.integer<std::uint32_t>();
    plan.retries = row.integer<std::uint32_t>();
    return plan;
}

std::vector<Job> readJobRows(Database& database) {
    Statement statement(database,
                        "SELECT number, submitted, is_array, gpus, priority, begin, parallel, "
                        "retries, name, command FROM jobs ORDER BY number");
    std::vector<Job> jobs;
    while (statement.step()) {
        Row row(database, statement);
        Job& job = jobs.emplace_back();
        job.number = row.integer<JobNumber>();
        job.submitted = row.time().value_or(core::WallTime{});
        job.isArray = row.boolean();
        job.gpus = row.integer<std::uint32_t>();
        job.plan = readPlan(row);
        job.name = row.bytes();
        job.command = summaryOf(row.texts());
    }
    return jobs;
}

Job& jobIn(std::vector<Job>& jobs, JobNumber number, Database& database) {
    const auto job = std::ranges::lower_bound(jobs, number, {}, &Job::number);
    if (job == jobs.end() || job->number != number)
        database.broken("a job is missing");
    return *job;
}

void readDependencies(Database& database, std::vector<Job>& jobs) {
    Statement statement(database, "SELECT job, on_job, condition FROM dependencies "
                                  "ORDER BY job, position");
    while (statement.step()) {
        Row row(database, statement);
        Job& job = jobIn(jobs, row.integer<JobNumber>(), database);
        Dependency& dependency = job.plan.after.emplace_back();
        dependency.job = row.integer<JobNumber>();
        dependency.condition = row.enumeration(Condition::Any);
    }
}

// A task that never began has no record, unless it was canceled or refused. Then it often has the
// same as the one before it.
void readRecord(Row& row, Task& task, const Task* previous) {
    TaskRecord record;
    record.gpuTime = std::chrono::seconds{row.integer<std::int64_t>()};
    record.peakMemoryBytes = row.integer<std::uint64_t>();
    record.ended = row.time();
    record.reason = row.bytes();
    if (task.lastAttempt > 0) {
        record.last.granted = row.time();
        record.last.started = row.time();
        record.last.ended = row.time();
        record.last.status = row.integer<int>();
        record.last.signal = row.integer<int>();
        record.last.environment = row.bytes();
        record.last.devices = row.texts();
    }
    if (record == TaskRecord{})
        return;
    if (previous != nullptr && previous->record() == record)
        task.shareRecord(*previous);
    else
        task.setRecord(std::move(record));
}

void readTasks(Database& database, std::vector<Job>& jobs) {
    Statement statement(
        database,
        "SELECT t.job, t.number, t.state, t.wish, t.held, t.attempts, t.last_attempt, t.failures, "
        "t.gpu_seconds, t.peak_memory, t.ended, t.reason, a.granted, a.started, a.ended, a.status, "
        "a.signal, a.environment, a.devices FROM tasks t LEFT JOIN attempts a "
        "ON a.job = t.job AND a.task = t.number AND a.number = t.last_attempt "
        "ORDER BY t.job, t.number");
    while (statement.step()) {
        Row row(database, statement);
        Job& job = jobIn(jobs, row.integer<JobNumber>(), database);
        Task& task = job.tasks.emplace_back();
        task.number = row.integer<std::uint32_t>();
        task.state = row.enumeration(TaskState::Canceled);
        task.wish = row.enumeration(Wish::Requeue);
        task.held = row.boolean();
        task.attempts = row.integer<std::uint32_t>();
        task.lastAttempt = row.integer<std::uint32_t>();
        task.failures = row.integer<std::uint32_t>();
        readRecord(row, task, job.tasks.size() > 1 ? &task - 1 : nullptr);
    }
}

} // namespace

std::string joined(std::span<const std::string> texts) {
    std::string all;
    for (const std::string& text : texts)
        all.append(text).push_back('\0');
    return all;
}

std::vector<std::string> split(std::string_view joined) {
    std::vector<std::string> texts;
    while (!joined.empty()) {
        const std::size_t end = std::min(joined.find('\0'), joined.size());
        texts.emplace_back(joined.substr(0, end));
        joined.remove_prefix(std::min(end + 1, joined.size()));
    }
    return texts;
}

std::int64_t columnOf(std::uint64_t number) {
    constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
    return std::in_range<std::int64_t>(number) ? static_cast<std::int64_t>(number) : max;
}

std::int64_t columnOf(core::WallTime time) {
    return time.time_since_epoch().count();
}

std::optional<std::int64_t> columnOf(const std::optional<core::WallTime>& time) {
    return time ? std::optional(columnOf(*time)) : std::nullopt;
}

std::optional<core::WallTime> timeOf(std::optional<std::int64_t> column) {
    return column ? std::optional(core::WallTime{std::chrono::microseconds{*column}})
                  : std::nullopt;
}

std::vector<Job> readJobs(Database& database) {
    std::vector<Job> jobs = readJobRows(database);
    readDependencies(database, jobs);
    readTasks(database, jobs);
    for (Job& job : jobs) {
        if (job.tasks.empty())
            database.broken("a job has no task");
        job.tasks.shrink_to_fit();
        job.progress = progressOf(job);
    }
    return jobs;
}

std::optional<Submission> readSubmission(Database& database, JobNumber number) {
    Statement statement(database,
                        "SELECT priority, begin, parallel, retries, is_array, gpus, cpus, memory, "
                        "umask, name, command, folder, output, request, environment FROM jobs "
                        "WHERE number = ?");
    if (!statement.bind(std::int64_t{number}).step())
        return std::nullopt;
    Row row(database, statement);
    Submission submission;
    submission.plan = readPlan(row);
    submission.isArray = row.boolean();
    submission.gpus = row.integer<std::uint32_t>();
    submission.cpus = row.integer<std::uint32_t>();
    submission.memoryBytes = row.integer<std::uint64_t>();
    submission.umask = row.integer<std::uint32_t>();
    submission.name = row.bytes();
    submission.command = row.texts();
    submission.folder = row.bytes();
    submission.output = row.bytes();
    submission.request = row.bytes();
    submission.environment = row.texts();
    return submission;
}

} // namespace genv::jobs
