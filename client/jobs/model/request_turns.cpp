// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/model/request_turns.hpp"

#include <algorithm>

namespace genv::jobs {

namespace {

std::size_t indexOf(const Job& job, std::uint32_t number) {
    const auto task = std::ranges::lower_bound(job.tasks, number, {}, &Task::number);
    return static_cast<std::size_t>(task - job.tasks.begin());
}

} // namespace

/// Collects the tasks that are wanted.
class RequestTurns::Choice {
  public:
    Choice(std::size_t max, const std::set<TaskName>& delayed) : max_(max), delayed_(delayed) {}

    [[nodiscard]] bool isComplete() const { return tasks_.size() >= max_; }
    void take(const Entry& entry, std::size_t index) {
        const TaskName name{entry.job->number, entry.job->tasks[index].number};
        if (!isComplete() && entry.idle.contains(index) && hasRoom(*entry.job) &&
            !delayed_.contains(name) && !std::ranges::count(tasks_, name))
            tasks_.push_back(name);
    }
    void takeNext(const Entry& entry) {
        std::size_t index = entry.idle.from(0);
        while (index != NumberSet::none && !isComplete() && hasRoom(*entry.job)) {
            take(entry, index);
            index = entry.idle.from(index + 1);
        }
    }
    /// Ends a priority: its tasks are put in order.
    void endGroup() {
        std::sort(tasks_.begin() + group_, tasks_.end());
        group_ = std::ssize(tasks_);
    }
    std::vector<TaskName> result() && { return std::move(tasks_); }

  private:
    [[nodiscard]] bool hasRoom(const Job& job) const {
        const auto taken =
            static_cast<std::size_t>(std::ranges::count(tasks_, job.number, &TaskName::job));
        return job.plan.parallel == 0 || job.progress.running + taken < job.plan.parallel;
    }

    std::size_t max_;
    const std::set<TaskName>& delayed_;
    std::vector<TaskName> tasks_;
    std::ptrdiff_t group_ = 0; ///< where the tasks of the present priority start
};

void RequestTurns::add(const Job& job) {
    Entry& entry = entries_[job.number];
    entry.job = &job;
    for (std::size_t index = 0; index < job.tasks.size(); ++index)
        if (job.tasks[index].state == TaskState::Waiting && !job.tasks[index].held)
            entry.idle.insert(index);
    list(entry);
}

void RequestTurns::remove(const Job& job) {
    ready_.erase(turnOf(job));
    if (job.plan.begin)
        begins_.erase({*job.plan.begin, job.number});
    entries_.erase(job.number);
}

void RequestTurns::update(const Job& job, const Task& task) {
    Entry& entry = entries_.at(job.number);
    if (task.state == TaskState::Waiting && !task.held)
        entry.idle.insert(indexOf(job, task.number));
    else
        entry.idle.erase(indexOf(job, task.number));
    list(entry);
}

void RequestTurns::setFree(const Job& job, bool isFree) {
    Entry& entry = entries_.at(job.number);
    entry.isFree = isFree;
    list(entry);
}

std::vector<TaskName> RequestTurns::wanted(const std::set<TaskName>& requested, core::WallTime now,
                                           const std::set<TaskName>& delayed) {
    moveClock(now);
    Choice choice(maxRequests_, delayed);
    for (auto turn = ready_.begin(); turn != ready_.end() && !choice.isComplete();) {
        const std::int64_t order = turn->order;
        for (const TaskName& name : requested) {
            const auto entry = entries_.find(name.job);
            if (entry != entries_.end() && ready_.contains({order, name.job}) &&
                turnOf(*entry->second.job).order == order)
                choice.take(entry->second, indexOf(*entry->second.job, name.number));
        }
        for (; turn != ready_.end() && turn->order == order && !choice.isComplete(); ++turn)
            choice.takeNext(entries_.at(turn->job));
        choice.endGroup();
    }
    return std::move(choice).result();
}

std::optional<core::WallTime> RequestTurns::nextBegin(core::WallTime now) const {
    const auto next = begins_.upper_bound({now, UINT32_MAX});
    return next == begins_.end() ? std::nullopt : std::optional(next->first);
}

bool RequestTurns::isFree(JobNumber job) const {
    return entries_.at(job).isFree;
}

bool RequestTurns::isFull(const Job& job) {
    return job.plan.parallel > 0 && job.progress.running >= job.plan.parallel;
}

RequestTurns::Turn RequestTurns::turnOf(const Job& job) {
    return {.order = -std::int64_t{job.plan.priority}, .job = job.number};
}

void RequestTurns::list(const Entry& entry) {
    const Job& job = *entry.job;
    const bool isListed = entry.isFree && !entry.idle.empty();
    if (isListed && (!job.plan.begin || *job.plan.begin <= clock_))
        ready_.insert(turnOf(job));
    else
        ready_.erase(turnOf(job));
    if (isListed && job.plan.begin)
        begins_.emplace(*job.plan.begin, job.number);
    else if (job.plan.begin)
        begins_.erase({*job.plan.begin, job.number});
}

// Only jobs whose begin lies between the two times change.
void RequestTurns::moveClock(core::WallTime now) {
    const auto first = begins_.upper_bound({std::min(now, clock_), UINT32_MAX});
    const auto end = begins_.upper_bound({std::max(now, clock_), UINT32_MAX});
    const bool hasCome = now > clock_;
    clock_ = now;
    for (auto begin = first; begin != end; ++begin) {
        const Turn turn = turnOf(*entries_.at(begin->second).job);
        if (hasCome)
            ready_.insert(turn);
        else
            ready_.erase(turn);
    }
}

} // namespace genv::jobs
