// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/task_scheduler.hpp"

#include "client/jobs/daemon/request.hpp"
#include "client/jobs/daemon/wall_clock.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

namespace genv::jobs {

namespace {

// At this number of delayed tasks, the scheduler opens no requests for others: their common cause
// would delay these, too.
constexpr std::size_t maxDelayed = 64;

} // namespace

TaskScheduler::TaskScheduler(Book& book, JobStore& store, const Places& places, const Buses& buses,
                             sd_event* loop, uid_t uid, const std::string& runner, Changed changed)
    : book_(book), submissions_(store), changed_(std::move(changed)),
      loop_(loop), runnerListener_{
                       .ready = [this](const AttemptName& attempt) { requests_.onReady(attempt); },
                       .started =
                           [this](const AttemptName& attempt) { attempts_.onStarted(attempt); },
                       .ended =
                           [this](const AttemptName& attempt) {
                               requests_.onEnded(attempt, endedEarly);
                               attempts_.onRunnerEnded(attempt);
                           }},
      turn_(loop, [this] { act(); }), begin_(loop, [this] { turn_.schedule(); }),
      service_(buses.system,
               [this](bool isThere) {
                   requests_.onService(isThere);
                   turn_.schedule();
               }),
      requests_(
          service_, loop, uid,
          {.granted = [this](TaskName task, TaskGrant grant) { onGranted(task, std::move(grant)); },
           .refused =
               [this](TaskName task, const std::string& reason) {
                   book_.refused(task, reason, wallClock());
               },
           .changed = [this] { turn_.schedule(); }}),
      units_(buses.user, runner,
             {.appeared = [this] { onManager(true); },
              .disappeared = [this] { onManager(false); },
              .gone = [this](const AttemptName& attempt) { attempts_.onGone(attempt); }}),
      attempts_({book_, submissions_, places, units_}, loop,
                {.notStarted = [this](TaskName task,
                                      const std::string& why) { requests_.delay(task, why); },
                 .started = [this](TaskName task) { requests_.settle(task); },
                 .gone =
                     [this] {
                         requests_.retryQuota();
                         turn_.schedule();
                     }}) {
    book_.observe([this](const auto& added, const auto& modified) { onBook(added, modified); });
}

void TaskScheduler::onBook(const std::set<JobNumber>& added, const std::set<JobNumber>& changed) {
    addedJobs_.insert(added.begin(), added.end());
    changedJobs_.insert(changed.begin(), changed.end());
    turn_.schedule();
}

void TaskScheduler::onManager(bool isThere) {
    if (isThere)
        attempts_.onManager();
    turn_.schedule();
}

// A grant that is not used ends here, with its runner.
void TaskScheduler::onGranted(TaskName task, TaskGrant grant) {
    try {
        if (!units_.isThere())
            fail(JobErrorCode::NotSupported, "the user's manager has ended");
        attempts_.begin(task, std::move(grant));
    } catch (const JobError& error) {
        if (error.code() != JobErrorCode::InvalidArgs) { // it was canceled or held meanwhile
            requests_.delay(task, error.what());
            std::fprintf(stderr, "genv-jobs: job %u: %s\n", task.job, error.what());
        }
    }
    turn_.schedule();
}

void TaskScheduler::act() {
    makeRequests();
    // A job may be in both: somebody may have asked for it in between.
    const auto added = std::exchange(addedJobs_, {});
    const auto changed = std::exchange(changedJobs_, {});
    changed_(added, changed);
}

void TaskScheduler::makeRequests() {
    const core::WallTime now = wallClock();
    std::set<TaskName> delayed;
    for (const auto& [task, reason] : requests_.delayed())
        delayed.insert(delayed.end(), task);
    const std::set<TaskName> requested = requests_.tasks();
    std::vector<TaskName> wanted;
    if (units_.isThere()) // otherwise the GPUs would be idle
        wanted = book_.wanted(requested, now, delayed);
    for (const TaskName& task : requested) {
        if (std::find(wanted.begin(), wanted.end(), task) == wanted.end())
            requests_.withdraw(task);
    }
    for (const TaskName& task : wanted) {
        if (!requested.contains(task) && requests_.count() < Book::maxRequests &&
            delayed.size() < maxDelayed)
            open(task);
    }
    if (const auto begin = book_.nextBegin(now))
        begin_.set(begin->time_since_epoch());
    else
        begin_.stop();
}

void TaskScheduler::open(TaskName task) {
    try {
        const Job& job = book_.job(task.job);
        Wanted wanted;
        wanted.options = decodeRequest(submissions_.get(task.job).request);
        wanted.gpus = job.gpus;
        wanted.attempt = book_.task(task).lastAttempt + 1;
        wanted.isArray = job.isArray;
        wanted.name = job.name;
        wanted.priority = job.plan.priority;
        auto runner = startRunner({task, wanted.attempt});
        requests_.open(task, std::move(wanted), std::move(runner));
    } catch (const std::exception& error) {
        requests_.delay(task, error.what());
    }
}

std::unique_ptr<Runner> TaskScheduler::startRunner(const AttemptName& attempt) {
    const Submission& submission = submissions_.get(attempt.task.job);
    auto [channel, input] = RunnerChannel::make();
    auto runner = std::make_unique<Runner>(loop_, attempt, std::move(channel), runnerListener_);
    units_.start(attempt, {submission.cpus, submission.memoryBytes}, input.get(),
                 [this, attempt](const std::string& why) { requests_.onEnded(attempt, why); });
    return runner;
}

std::size_t TaskScheduler::cancel(JobNumber job, const std::vector<std::uint32_t>& tasks) {
    return end(book_.cancel(job, tasks, wallClock()));
}

std::size_t TaskScheduler::hold(JobNumber job, const std::vector<std::uint32_t>& tasks) {
    return book_.hold(job, tasks).size();
}

std::size_t TaskScheduler::release(JobNumber job, const std::vector<std::uint32_t>& tasks) {
    return book_.release(job, tasks).size();
}

std::size_t TaskScheduler::requeue(JobNumber job, const std::vector<std::uint32_t>& tasks) {
    return end(book_.requeue(job, tasks));
}

// Those that start or run have a wish, and are ended for it.
std::size_t TaskScheduler::end(const std::vector<TaskName>& tasks) {
    for (const TaskName& task : tasks) {
        requests_.settle(task);
        if (book_.task(task).isOpen())
            attempts_.stop(task);
    }
    return tasks.size();
}

} // namespace genv::jobs
