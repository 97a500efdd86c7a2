// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/accounting.hpp"

#include "client/genvctl/cluster/gres.hpp"
#include "client/genvctl/cluster/jobs/job_states.hpp"
#include "client/genvctl/cluster/jobs/task_list.hpp"
#include "client/genvctl/cluster/shapes.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace genv::ctl::cluster {

namespace {

// A name may contain any character, so it comes last, and the separator is one that nobody
// types.
constexpr char fieldSeparator = '\x1f';
constexpr const char* sacctFormat =
    "--format=JobID,JobIDRaw,State,ExitCode,Submit,Start,End,ReqTRES,WorkDir,JobName";
constexpr std::size_t sacctFieldCount = 10;
using SacctFields = std::array<std::string_view, sacctFieldCount>;

std::vector<std::string> sacctWords(std::uint32_t uid, std::string which) {
    return {"sacct",
            "--parsable2",
            "--noheader",
            "--allocations",
            std::string("--delimiter=") + fieldSeparator,
            fmt::format("--user={}", uid),
            std::move(which),
            sacctFormat};
}

SacctFields sacctFieldsOf(std::string_view record) {
    SacctFields fields;
    for (std::size_t i = 0; i < sacctFieldCount; ++i) {
        const bool isLast = i + 1 == sacctFieldCount;
        const std::size_t end = isLast ? record.size() : record.find(fieldSeparator);
        if (end == std::string_view::npos)
            throw UnknownShape(fmt::format("sacct printed the line \"{}\"", shown(record)));
        fields[i] = record.substr(0, end);
        record.remove_prefix(isLast ? end : end + 1);
    }
    return fields;
}

/// "17", "17_3", or for tasks that never started "17_[4-9]".
struct JobId {
    jobs::JobNumber job = 0;
    bool isArray = false;
    std::vector<std::uint32_t> tasks;
};

std::optional<JobId> jobIdIn(std::string_view text) {
    const std::size_t underscore = text.find('_');
    const auto job = parseNumber(text.substr(0, underscore));
    if (!job || *job == 0)
        return std::nullopt; // a part of a heterogeneous job: "17+1"
    if (underscore == std::string_view::npos)
        return JobId{*job, false, {0}};
    const auto list = parseTaskList(text.substr(underscore + 1));
    return list ? std::optional(JobId{*job, true, list->numbers}) : std::nullopt;
}

// A line that starts a record. Other lines are a part of the name in the record before.
bool startsRecord(std::string_view line) {
    const std::size_t end = line.find(fieldSeparator);
    return end != std::string_view::npos && end > 0 && line.front() >= '0' && line.front() <= '9' &&
           line.substr(0, end).find_first_not_of("0123456789_[]-,:%+.") == std::string_view::npos;
}

std::uint64_t timeOf(std::string_view text) {
    return std::uint64_t{parseNumber(text).value_or(0)} *
           microsecondsPerSecond; // "Unknown" or "None"
}

std::uint32_t gpusIn(std::string_view tres) {
    std::uint32_t gpus = 0;
    for (const std::string_view part : splitGres(tres)) {
        if (part.starts_with("gres/gpu="))
            gpus = readWantedGres(part).gpus;
    }
    return gpus;
}

// "3:0": the exit status, and the signal.
void readExit(std::string_view text, SlurmTask& task) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto status = parseNumber(text.substr(0, colon));
    const auto signal = parseNumber(text.substr(std::min(colon + 1, text.size())));
    task.signal = static_cast<std::int32_t>(signal.value_or(0) & 0x7f);
    task.status = static_cast<std::int32_t>(status.value_or(0) & 0xff);
    if (task.signal > 0)
        task.status = 128 + task.signal;
    if (task.state != "done")
        task.status = std::max(task.status, 1);
}

void addRecord(std::string_view record, std::uint32_t uid, SlurmJobs& jobs) {
    const auto [id, raw, stateText, exit, submit, start, end, tres, folder, name] =
        sacctFieldsOf(record);
    const auto named = jobIdIn(id);
    const std::set<std::string> states{std::string(stateText.substr(0, stateText.find(' ')))};
    const auto state = stateWord(states, "");
    if (!state)
        throw UnknownShape(fmt::format("job {} is in the state {}", shown(id), shown(stateText)));
    SlurmTask task;
    task.state = *state;
    if (!named || !task.hasEnded())
        return;
    task.id = parseNumber(raw).value_or(named->job);
    task.started = timeOf(start);
    task.ended = timeOf(end);
    if (task.state == "canceled" && task.started >= task.ended)
        task.started = 0;
    readExit(exit, task);
    task.reason = howEnded(task, states, "");
    SlurmJobRecord& job = jobs[named->job];
    job.number = named->job;
    job.isArray = named->isArray;
    job.uid = uid;
    job.name = name;
    job.folder = folder;
    job.gpus = gpusIn(tres);
    job.submitted = timeOf(submit);
    // The list of the tasks that never started may name all tasks.
    if (named->tasks.size() == 1)
        job.tasks.insert_or_assign(named->tasks.front(), task);
    else
        for (const std::uint32_t number : named->tasks)
            job.tasks.emplace(number, task);
}

} // namespace

std::vector<std::string> endedSinceCommand(std::uint32_t uid, const std::string& since) {
    return sacctWords(uid, "--starttime=" + since);
}

std::vector<std::string> endedJobCommand(std::uint32_t uid, jobs::JobNumber job) {
    return sacctWords(uid, fmt::format("--jobs={}", job));
}

SlurmJobs readAccounting(std::string_view sacct, std::uint32_t uid) {
    SlurmJobs jobs;
    while (!sacct.empty()) {
        std::size_t end = std::min(sacct.find('\n'), sacct.size());
        while (end < sacct.size()) {
            const std::string_view next = sacct.substr(end + 1);
            if (next.empty() || startsRecord(next.substr(0, next.find('\n'))))
                break;
            end = std::min(sacct.find('\n', end + 1), sacct.size());
        }
        addRecord(sacct.substr(0, end), uid, jobs);
        sacct.remove_prefix(std::min(end + 1, sacct.size()));
    }
    return jobs;
}

void addForgotten(SlurmJobs& remembered, SlurmJobs accounted) {
    remembered.merge(accounted);
    for (auto& known : accounted)
        remembered.at(known.first).tasks.merge(known.second.tasks);
}

} // namespace genv::ctl::cluster
