// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/model/submission.hpp"

#include "client/jobs/model/job_error.hpp"
#include "client/jobs/model/job_state.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <algorithm>

namespace genv::jobs {

namespace {

constexpr std::size_t maxSummary = 120;

// A zero byte ends a text wherever a program is started.
void requireText(const std::string& text, std::string_view what) {
    if (text.find('\0') != std::string::npos)
        fail(JobErrorCode::InvalidArgs, "invalid {}: it contains a zero byte", what);
}

void requirePath(const std::string& path, std::string_view what) {
    requireText(path, what);
    if (!path.starts_with('/'))
        fail(JobErrorCode::InvalidArgs, "invalid {} \"{}\": expected an absolute path", what,
             core::escaped(path));
}

void checkCommand(const Submission& submission) {
    if (submission.command.empty() || submission.command.front().empty())
        fail(JobErrorCode::InvalidArgs, "a job needs a command");
    for (const std::string& word : submission.command)
        requireText(word, "command");
    for (const std::string& variable : submission.environment) {
        requireText(variable, "variable");
        const std::size_t end = variable.find('=');
        if (end == 0 || end == std::string::npos)
            fail(JobErrorCode::InvalidArgs, "invalid variable \"{}\": expected NAME=VALUE",
                 core::escaped(variable));
    }
    requirePath(submission.folder, "folder");
    if (!submission.output.empty())
        requirePath(submission.output, "output");
    if (submission.umask > 0777)
        fail(JobErrorCode::InvalidArgs, "invalid umask {:o}: expected at most 777",
             submission.umask);
}

void checkName(const std::string& name) {
    try {
        if (!name.empty())
            core::requireName(name);
    } catch (const core::Error& error) {
        fail(JobErrorCode::InvalidArgs, "{}", error.what());
    }
}

void prepareTasks(Submission& submission, std::size_t maxTasks) {
    std::vector<TaskValue>& tasks = submission.tasks;
    if (tasks.size() > maxTasks)
        fail(JobErrorCode::LimitsExceeded, "too many tasks: {} in one job, expected at most {}",
             tasks.size(), maxTasks);
    if (submission.isArray && tasks.empty())
        fail(JobErrorCode::InvalidArgs, "an array needs a task");
    if (!submission.isArray &&
        (tasks.size() != 1 || tasks.front().number != 0 || !tasks.front().value.empty()))
        fail(JobErrorCode::InvalidArgs, "only an array has numbered tasks");
    std::ranges::sort(tasks, {}, &TaskValue::number);
    const auto twice = std::ranges::adjacent_find(tasks, {}, &TaskValue::number);
    if (twice != tasks.end())
        fail(JobErrorCode::InvalidArgs, "two tasks have the number {}", twice->number);
    for (const TaskValue& task : tasks)
        requireText(task.value, "value of a task");
}

void prepareDependencies(std::vector<Dependency>& after) {
    std::vector<Dependency> once;
    for (const Dependency& dependency : after)
        if (!std::ranges::count(once, dependency))
            once.push_back(dependency);
    after = std::move(once);
}

} // namespace

void prepare(Submission& submission, std::size_t maxTasks) {
    checkCommand(submission);
    checkName(submission.name);
    prepareTasks(submission, maxTasks);
    prepareDependencies(submission.plan.after);
}

std::string summaryOf(std::span<const std::string> command) {
    std::string words;
    for (const std::string& word : command) {
        if (words.size() > maxSummary)
            break;
        words += words.empty() ? "" : " ";
        words += word;
    }
    return core::escaped(words, maxSummary);
}

Job jobOf(const Submission& submission, JobNumber number, core::WallTime submitted) {
    Job job;
    job.number = number;
    job.name = submission.name;
    job.command = summaryOf(submission.command);
    job.isArray = submission.isArray;
    job.gpus = submission.gpus;
    job.plan = submission.plan;
    job.submitted = submitted;
    job.tasks.reserve(submission.tasks.size());
    for (const TaskValue& value : submission.tasks) {
        Task& task = job.tasks.emplace_back();
        task.number = value.number;
        task.held = submission.hold;
    }
    job.progress = progressOf(job);
    return job;
}

} // namespace genv::jobs
