// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/model/book.hpp"

#include "client/jobs/model/steps.hpp"
#include "client/jobs/model/submission.hpp"

#include <algorithm>

namespace genv::jobs {

namespace {

bool isCurrent(const Task& task, AttemptName attempt) {
    return task.isOpen() && task.lastAttempt == attempt.attempt;
}

} // namespace

Book::Book(JobStore& store) : store_(store) {
    for (Job& job : store.load())
        insert(std::move(job));
    added_.clear();
    for (const auto& [number, job] : jobs_)
        unsettled_.insert(number);
    settle();
    changed_.clear();
}

void Book::observe(Observer observer) {
    observer_ = std::move(observer);
}

const Job& Book::job(JobNumber number) const {
    const auto job = jobs_.find(number);
    if (job == jobs_.end())
        fail(JobErrorCode::NoSuchJob, "there is no job {}", number);
    return job->second;
}

const Task& Book::task(TaskName name) const {
    const Job& owner = job(name.job);
    const auto task = std::ranges::lower_bound(owner.tasks, name.number, {}, &Task::number);
    if (task == owner.tasks.end() || task->number != name.number)
        fail(JobErrorCode::NoSuchJob, "job {} has no task {}", name.job, name.number);
    return *task;
}

std::vector<AttemptName> Book::openAttempts() const {
    std::vector<AttemptName> open;
    for (const auto& [number, job] : jobs_)
        for (const Task& task : job.tasks)
            if (task.isOpen())
                open.push_back({{number, task.number}, task.lastAttempt});
    return open;
}

std::vector<TaskName> Book::wanted(const std::set<TaskName>& requested, core::WallTime now,
                                   const std::set<TaskName>& delayed) {
    return turns_.wanted(requested, now, delayed);
}

std::optional<core::WallTime> Book::nextBegin(core::WallTime now) const {
    return turns_.nextBegin(now);
}

Blocked Book::blockedBy(TaskName name, core::WallTime now) const {
    const Job& owner = job(name.job);
    const Task& waiting = task(name);
    if (waiting.state != TaskState::Waiting)
        return Blocked::Nothing;
    if (waiting.held)
        return Blocked::Held;
    if (owner.plan.begin && *owner.plan.begin > now)
        return Blocked::Begin;
    if (!turns_.isFree(name.job))
        return Blocked::Dependency;
    return RequestTurns::isFull(owner) ? Blocked::Parallel : Blocked::Turn;
}

AttemptName Book::begin(TaskName name, const std::string& environment,
                        const std::vector<std::string>& devices, core::WallTime now) {
    const Job& owner = job(name.job);
    const Task& waiting = task(name);
    if (waiting.state != TaskState::Waiting || waiting.held || !turns_.isFree(name.job) ||
        RequestTurns::isFull(owner))
        fail(JobErrorCode::InvalidArgs, "task {} must not start now", textOf(owner, waiting));
    request({{name.job, steps::begun(waiting, environment, devices, now)}});
    return {name, task(name).lastAttempt};
}

void Book::started(AttemptName attempt, core::WallTime at) {
    const Task* const task = find(attempt.task);
    if (task != nullptr && isCurrent(*task, attempt) && task->state == TaskState::Starting)
        step(attempt.task, steps::started(*task, at));
}

void Book::notStarted(AttemptName attempt, core::WallTime now) {
    const Task* const task = find(attempt.task);
    if (task != nullptr && isCurrent(*task, attempt) && task->state == TaskState::Starting)
        fact({{attempt.task.job, steps::notStarted(*task, now)}});
}

void Book::refused(TaskName name, const std::string& reason, core::WallTime now) {
    const Task* const task = find(name);
    if (task != nullptr && task->state == TaskState::Waiting)
        fact({{name.job, steps::refused(*task, reason, now)}});
}

void Book::ended(AttemptName attempt, const AttemptEnding& ending) {
    const Task* const task = find(attempt.task);
    if (task != nullptr && isCurrent(*task, attempt))
        step(attempt.task, steps::ended(*task, ending, jobs_.at(attempt.task.job).plan.retries));
}

// A peak alone is not worth a write: the end of the attempt follows.
void Book::used(AttemptName attempt, std::uint64_t gpuMemoryBytes) {
    Task* const task = find(attempt.task);
    if (task == nullptr || !isCurrent(*task, attempt) ||
        gpuMemoryBytes <= task->record().peakMemoryBytes)
        return;
    TaskRecord record = task->record();
    record.peakMemoryBytes = gpuMemoryBytes;
    task->setRecord(std::move(record));
    unwritten_.insert(attempt.task);
}

bool Book::writeAgain() {
    try {
        write({});
    } catch (const JobError&) {
        return false;
    }
    return true;
}

Task* Book::find(TaskName name) {
    const auto job = jobs_.find(name.job);
    if (job == jobs_.end())
        return nullptr;
    std::vector<Task>& tasks = job->second.tasks;
    const auto task = std::ranges::lower_bound(tasks, name.number, {}, &Task::number);
    return task == tasks.end() || task->number != name.number ? nullptr : &*task;
}

void Book::insert(Job job) {
    const JobNumber number = job.number;
    Job& inserted = jobs_.emplace(number, std::move(job)).first->second;
    inserted.progress = progressOf(inserted);
    tasks_ += inserted.tasks.size();
    unfinished_ += static_cast<std::size_t>(jobs::isUnfinished(inserted));
    for (const Dependency& dependency : inserted.plan.after)
        dependents_[dependency.job].insert(number);
    turns_.add(inserted);
    unsettled_.insert(number);
    added_.insert(number);
}

// Writes what is not yet written and then the changes: a task may be in both, with an attempt that
// ended and the next one.
void Book::write(const Changes& changes) {
    Changes all;
    all.reserve(unwritten_.size() + changes.size());
    for (const TaskName& name : unwritten_)
        all.push_back({name.job, task(name)});
    all.insert(all.end(), changes.begin(), changes.end());
    if (all.empty())
        return;
    try {
        store_.write(all);
    } catch (const JobError& error) {
        if (!unwritten_.empty())
            writeError_ = error.what();
        throw;
    }
    unwritten_.clear();
    hasSteps_ = false;
    writeError_.clear();
}

void Book::request(const Changes& changes) {
    write(changes);
    make(changes);
    settle();
    tell();
}

void Book::fact(const Changes& changes) {
    note(changes);
    settle();
    tell();
}

void Book::step(TaskName name, Task task) {
    unwritten_.insert(name);
    hasSteps_ = true;
    make({{name.job, std::move(task)}});
    settle();
    tell();
}

// A fact stays a fact when it cannot be written.
void Book::note(const Changes& changes) {
    try {
        write(changes);
    } catch (const JobError& error) {
        writeError_ = error.what();
        for (const TaskChange& change : changes)
            unwritten_.insert({change.job, change.task.number});
    }
    make(changes);
}

void Book::make(const Changes& changes) {
    for (const TaskChange& change : changes) {
        Job& owner = jobs_.at(change.job);
        Task& task = *find({change.job, change.task.number});
        const bool wasUnfinished = jobs::isUnfinished(owner);
        count(owner.progress, task, -1);
        task = change.task;
        count(owner.progress, task, 1);
        turns_.update(owner, task);
        const bool isUnfinishedNow = jobs::isUnfinished(owner);
        unfinished_ +=
            static_cast<std::size_t>(isUnfinishedNow) - static_cast<std::size_t>(wasUnfinished);
        unsettled_.insert(owner.number);
        if (isUnfinishedNow != wasUnfinished)
            if (const auto others = dependents_.find(owner.number); others != dependents_.end())
                unsettled_.insert(others->second.begin(), others->second.end());
        changed_.insert(owner.number);
    }
}

// Canceled tasks end their job, which may concern the next one.
void Book::settle() {
    while (!unsettled_.empty()) {
        const JobNumber number = *unsettled_.begin();
        unsettled_.erase(unsettled_.begin());
        const Job& job = jobs_.at(number);
        if (!job.plan.after.empty() && job.progress.waiting + job.progress.held > 0)
            settle(job);
    }
}

void Book::settle(const Job& job) {
    const DependencyVerdict verdict = verdictOn(job, jobs_);
    turns_.setFree(job, verdict.met == Met::Yes);
    if (verdict.met != Met::Never)
        return;
    std::vector<Task> tasks;
    std::ranges::copy_if(job.tasks, std::back_inserter(tasks),
                         [](const Task& task) { return task.state == TaskState::Waiting; });
    steps::cancelAll(tasks, verdict.reason, verdict.at);
    note(changesOf(job, std::move(tasks)));
}

void Book::tell() {
    const std::set<JobNumber> added = std::exchange(added_, {});
    std::set<JobNumber> changed = std::exchange(changed_, {});
    for (const JobNumber number : added)
        changed.erase(number);
    if (observer_ && !(added.empty() && changed.empty()))
        observer_(added, changed);
}

} // namespace genv::jobs
