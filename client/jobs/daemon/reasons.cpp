// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/reasons.hpp"

#include "core/queue/quota_hold.hpp"
#include "core/sentences/sentences.hpp"
#include "core/settings/limit_definitions.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstring>
#include <vector>

namespace genv::jobs {

namespace {

std::string waitsForJobs(const Book& book, const Job& job) {
    std::vector<JobNumber> others;
    for (const Dependency& dependency : job.plan.after) {
        const auto other = book.jobs().find(dependency.job);
        if (other != book.jobs().end() && isUnfinished(other->second))
            others.push_back(dependency.job);
    }
    return fmt::format("waits for {} {}", others.size() == 1 ? "job" : "jobs",
                       fmt::join(others, ", "));
}

std::string waitsInQueue(const RequestWait& entry) {
    if (entry.takes)
        return "takes GPUs on loan";
    if (entry.waitsFor == "earlier-requests")
        return "earlier requests are next";
    if (entry.waitsFor == "quota" && core::findLimitByKey(entry.limit) != nullptr)
        return "held back: " + core::describeOwnHold({entry.limit, entry.used, entry.allowed});
    return "waits for free GPUs";
}

std::string whyTurn(TaskName task, const WaitingFacts& facts) {
    if (!facts.hasManager)
        return "no user manager runs";
    if (const auto delay = facts.delayed.find(task); delay != facts.delayed.end())
        return delay->second;
    if (!facts.requests.contains(task))
        return "earlier tasks are next";
    if (!facts.hasService)
        return "genvd does not run";
    const RequestWait* entry = facts.entryOf(task);
    return entry == nullptr ? std::string() : waitsInQueue(*entry);
}

std::string whyWaiting(const Book& book, TaskName task, const WaitingFacts& facts) {
    const Job& job = book.job(task.job);
    switch (book.blockedBy(task, facts.now)) {
    case Blocked::Held:
        return "held";
    case Blocked::Begin:
        return fmt::format("begins {:%a %Y-%m-%d %H:%M:%S}", core::localTime(*job.plan.begin));
    case Blocked::Dependency:
        return waitsForJobs(book, job);
    case Blocked::Parallel:
        return fmt::format("{} of this job run already", core::counted(job.plan.parallel, "task"));
    case Blocked::Turn:
        return whyTurn(task, facts);
    case Blocked::Nothing:
        break;
    }
    return {};
}

std::string whyRunning(const Task& task, const WaitingFacts& facts) {
    if (task.wish != Wish::None)
        return "ending";
    const auto entry = facts.queue.find(task.record().last.environment);
    return entry != facts.queue.end() && entry->second.resumes ? "parked for another request" : "";
}

std::string howFailed(const TaskRecord& record) {
    if (!record.reason.empty())
        return record.reason;
    if (record.last.signal > 0) {
        const char* name = ::sigabbrev_np(record.last.signal);
        return name != nullptr ? fmt::format("ended by SIG{}", name)
                               : fmt::format("ended by signal {}", record.last.signal);
    }
    return fmt::format("exit status {}", record.last.status);
}

} // namespace

const RequestWait* WaitingFacts::entryOf(TaskName task) const {
    const auto request = requests.find(task);
    const auto entry = request == requests.end() ? queue.end() : queue.find(request->second);
    return entry == queue.end() ? nullptr : &entry->second;
}

JobState stateOf(const Task& task) {
    switch (task.state) {
    case TaskState::Waiting:
        return task.held ? JobState::Held : JobState::Waiting;
    case TaskState::Starting:
    case TaskState::Running:
        return JobState::Running;
    case TaskState::Done:
        return JobState::Done;
    case TaskState::Failed:
        return JobState::Failed;
    case TaskState::Lost:
        return JobState::Lost;
    case TaskState::Canceled:
        break;
    }
    return JobState::Canceled;
}

const char* wordOf(JobState state) {
    switch (state) {
    case JobState::Waiting:
        return "waiting";
    case JobState::Held:
        return "held";
    case JobState::Running:
        return "running";
    case JobState::Done:
        return "done";
    case JobState::Failed:
        return "failed";
    case JobState::Lost:
        return "lost";
    case JobState::Canceled:
        break;
    }
    return "canceled";
}

std::string reasonOf(const Book& book, TaskName name, const WaitingFacts& facts) {
    const Task& task = book.task(name);
    switch (task.state) {
    case TaskState::Waiting:
        return whyWaiting(book, name, facts);
    case TaskState::Starting:
        return "starting";
    case TaskState::Running:
        return whyRunning(task, facts);
    case TaskState::Failed:
        return howFailed(task.record());
    case TaskState::Lost:
        return task.record().reason.empty() ? "its end was not seen" : task.record().reason;
    case TaskState::Canceled:
        return task.record().reason;
    case TaskState::Done:
        break;
    }
    return {};
}

std::string reasonOf(const Book& book, const Job& job, const WaitingFacts& facts) {
    const JobState state = stateOf(job);
    for (const Task& task : job.tasks) {
        if (stateOf(task) == state)
            return reasonOf(book, TaskName{job.number, task.number}, facts);
    }
    return {};
}

std::optional<core::WallTime> expectedStart(const Job& job, const WaitingFacts& facts) {
    std::optional<core::WallTime> first;
    for (auto request = facts.requests.lower_bound({job.number, 0});
         request != facts.requests.end() && request->first.job == job.number; ++request) {
        const RequestWait* entry = facts.entryOf(request->first);
        if (entry != nullptr && entry->expectedStart)
            first = first ? std::min(*first, *entry->expectedStart) : *entry->expectedStart;
    }
    return first;
}

} // namespace genv::jobs
