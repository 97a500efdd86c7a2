// SPDX-License-Identifier: LGPL-2.1-or-later
// What the user asks the book for.
#include "client/jobs/model/book.hpp"
#include "client/jobs/model/steps.hpp"
#include "client/jobs/model/submission.hpp"

#include <algorithm>

namespace genv::jobs {

namespace {

bool hasFailed(const Task& task) {
    return hasEnded(task.state) && task.state != TaskState::Done;
}

template <typename Predicate>
std::vector<Task> copyIf(const std::vector<const Task*>& tasks, Predicate isIncluded) {
    std::vector<Task> copies;
    for (const Task* const task : tasks)
        if (isIncluded(*task))
            copies.push_back(*task);
    return copies;
}

bool isWaiting(const Task& task) {
    return task.state == TaskState::Waiting;
}

// Of a whole job, those are requeued that are in the worst state.
std::vector<Task> worstOf(const std::vector<const Task*>& tasks) {
    std::vector<Task> worst = copyIf(tasks, hasFailed);
    if (worst.empty())
        worst = copyIf(tasks, [](const Task& task) { return task.isOpen(); });
    if (worst.empty())
        worst = copyIf(tasks, [](const Task& task) { return task.state == TaskState::Done; });
    return worst;
}

} // namespace

JobNumber Book::submit(Submission submission, core::WallTime now) {
    prepare(submission, maxTasksPerJob);
    requireDependencies(submission);
    if (tasks_ + submission.tasks.size() > maxTasks)
        fail(JobErrorCode::LimitsExceeded,
             "too many tasks: {} are recorded already, expected at most {}", tasks_, maxTasks);
    const JobNumber number = store_.add(submission, now);
    insert(jobOf(submission, number, now));
    settle();
    tell();
    return number;
}

std::vector<TaskName> Book::cancel(JobNumber number, std::span<const std::uint32_t> numbers,
                                   core::WallTime now) {
    const Job& owner = job(number);
    const std::vector<const Task*> tasks = named(owner, numbers);
    std::vector<Task> waiting = copyIf(tasks, isWaiting);
    steps::cancelAll(waiting, {}, now);
    for (Task& open : copyIf(tasks, [](const Task& task) { return task.isOpen(); })) {
        open.wish = Wish::Cancel;
        waiting.push_back(std::move(open));
    }
    return requestEach(owner, std::move(waiting));
}

std::vector<TaskName> Book::hold(JobNumber number, std::span<const std::uint32_t> numbers) {
    const Job& owner = job(number);
    std::vector<Task> tasks = copyIf(named(owner, numbers), isWaiting);
    for (Task& task : tasks)
        task.held = true;
    return requestEach(owner, std::move(tasks));
}

std::vector<TaskName> Book::release(JobNumber number, std::span<const std::uint32_t> numbers) {
    const Job& owner = job(number);
    std::vector<Task> tasks = copyIf(named(owner, numbers), isWaiting);
    for (Task& task : tasks)
        task.held = false;
    return requestEach(owner, std::move(tasks));
}

std::vector<TaskName> Book::requeue(JobNumber number, std::span<const std::uint32_t> numbers) {
    const Job& owner = job(number);
    const std::vector<const Task*> all = named(owner, numbers);
    if (const DependencyVerdict verdict = verdictOn(owner, jobs_); verdict.met == Met::Never)
        fail(JobErrorCode::InvalidArgs, "job {} cannot start, because {}: requeue that job first",
             number, verdict.reason);
    std::vector<Task> tasks = numbers.empty()
                                  ? worstOf(all)
                                  : copyIf(all, [](const Task& task) { return !isWaiting(task); });
    for (Task& task : tasks)
        if (task.isOpen())
            task.wish = Wish::Requeue;
        else
            task = steps::requeued(std::move(task));
    return requestEach(owner, std::move(tasks));
}

std::vector<Job> Book::forget(core::WallTime now) {
    const core::WallTime endedBefore = std::min(now, newestTime() + std::chrono::days{1}) - kept;
    std::vector<JobNumber> numbers;
    for (const auto& [number, job] : jobs_)
        if (const auto end = endOf(job); end && *end < endedBefore && !isNeeded(number))
            numbers.push_back(number);
    std::vector<Job> forgotten;
    if (numbers.empty())
        return forgotten;
    store_.remove(numbers);
    for (const JobNumber number : numbers) {
        forgotten.push_back(job(number));
        erase(number);
    }
    return forgotten;
}

std::vector<const Task*> Book::named(const Job& owner,
                                     std::span<const std::uint32_t> numbers) const {
    std::vector<const Task*> tasks;
    for (const std::uint32_t number : std::set(numbers.begin(), numbers.end()))
        tasks.push_back(&task({owner.number, number}));
    if (numbers.empty())
        for (const Task& task : owner.tasks)
            tasks.push_back(&task);
    return tasks;
}

Book::Changes Book::changesOf(const Job& owner, std::vector<Task> tasks) {
    Changes changes;
    changes.reserve(tasks.size());
    for (Task& task : tasks)
        changes.push_back({owner.number, std::move(task)});
    return changes;
}

// Tasks that stay as they are are concerned, but not written.
std::vector<TaskName> Book::requestEach(const Job& owner, std::vector<Task> tasks) {
    std::vector<TaskName> concerned;
    concerned.reserve(tasks.size());
    for (const Task& changed : tasks)
        concerned.push_back({owner.number, changed.number});
    std::erase_if(tasks, [&](const Task& changed) {
        return changed == task({owner.number, changed.number});
    });
    if (!tasks.empty())
        request(changesOf(owner, std::move(tasks)));
    return concerned;
}

// A job can only depend on earlier ones, so that they never wait for each other in a circle.
void Book::requireDependencies(const Submission& submission) const {
    for (const Dependency& dependency : submission.plan.after)
        if (!jobs_.contains(dependency.job))
            fail(JobErrorCode::NoSuchJob,
                 "there is no job {} to wait for: expected the number of an earlier job",
                 dependency.job);
}

bool Book::isNeeded(JobNumber number) const {
    const auto others = dependents_.find(number);
    return others != dependents_.end() && std::ranges::any_of(others->second, [&](JobNumber other) {
               return jobs::isUnfinished(jobs_.at(other));
           });
}

// The newest time in the book tells whether the clock jumped ahead.
core::WallTime Book::newestTime() const {
    core::WallTime newest = core::WallTime::min() + 2 * kept;
    for (const auto& [number, job] : jobs_)
        newest = std::max({newest, job.submitted, endOf(job).value_or(job.submitted)});
    return newest;
}

void Book::erase(JobNumber number) {
    const Job& job = jobs_.at(number);
    for (const Dependency& dependency : job.plan.after)
        if (const auto others = dependents_.find(dependency.job); others != dependents_.end()) {
            others->second.erase(number);
            if (others->second.empty())
                dependents_.erase(others);
        }
    for (const Task& task : job.tasks)
        unwritten_.erase({number, task.number});
    tasks_ -= job.tasks.size();
    turns_.remove(job);
    unsettled_.erase(number);
    jobs_.erase(number);
}

} // namespace genv::jobs
