// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/attempts.hpp"

#include "client/genvctl/shell/status_file.hpp"
#include "client/jobs/daemon/task_variables.hpp"
#include "client/jobs/daemon/wall_clock.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

namespace genv::jobs {

namespace {

using namespace std::chrono_literals;

constexpr auto beforeNextTry = 10s;
constexpr auto beforeWrite =
    200ms; // the next attempt is often recorded earlier, with the last one's end

} // namespace

Attempts::Attempts(const Parts& parts, sd_event* loop, Listener listener)
    : parts_(parts), files_(parts.places.attempts), listener_(std::move(listener)),
      again_(loop, [this] { tidy(); }) {
    removeOldFiles();
}

// What the database has recorded needs no files any more.
void Attempts::removeOldFiles() {
    for (const AttemptName& attempt : files_.list()) {
        if (!isOpen(attempt))
            files_.remove(attempt);
    }
}

bool Attempts::isOpen(const AttemptName& attempt) const {
    const auto job = parts_.book.jobs().find(attempt.task.job);
    if (job == parts_.book.jobs().end())
        return false;
    const auto task =
        std::ranges::lower_bound(job->second.tasks, attempt.task.number, {}, &Task::number);
    return task != job->second.tasks.end() && task->number == attempt.task.number &&
           task->isOpen() && task->lastAttempt == attempt.attempt;
}

AttemptOrder Attempts::orderOf(TaskName task, const GrantedEnvironment& environment) {
    const Submission& submission = parts_.submissions.get(task.job);
    AttemptOrder order;
    order.command = submission.command;
    order.folder = submission.folder;
    order.umask = submission.umask;
    order.environmentId = environment.id;
    std::vector<ctl::Variable> variables = variablesOf(environment);
    variables.push_back({"GENV_JOB", std::to_string(task.job)});
    if (submission.isArray) {
        const std::string value = parts_.submissions.value(task);
        variables.push_back({"GENV_ARRAY_TASK", value});
        for (std::string& word : order.command)
            replaceValue(word, value);
    }
    order.variables = withVariables(submission.environment, variables);
    order.statusFile = ctl::statusFile(environment.id).value_or("");
    order.output = parts_.submissions.outputOf(task, parts_.places);
    order.outputIsLog = submission.output.empty();
    return order;
}

void Attempts::begin(TaskName task, TaskGrant grant) {
    const AttemptOrder order = orderOf(task, grant.environment);
    const AttemptName attempt =
        parts_.book.begin(task, grant.environment.id, uuidsOf(grant.environment), wallClock());
    try {
        files_.write(attempt, order);
    } catch (const JobError&) {
        parts_.book.notStarted(attempt, wallClock());
        throw;
    }
    runners_[attempt] = std::move(grant.runner);
    if (!runners_[attempt]->start())
        onGone(attempt);
}

void Attempts::stop(TaskName task) {
    parts_.units.stop({task, parts_.book.task(task).lastAttempt});
}

// Attempts that start later are not in this list of units.
void Attempts::onManager() {
    parts_.units.list([this, open = parts_.book.openAttempts()](
                          const std::map<AttemptName, UnitState>& units) { compare(open, units); });
}

void Attempts::compare(const std::vector<AttemptName>& open,
                       const std::map<AttemptName, UnitState>& units) {
    for (const AttemptName& attempt : open) {
        const auto unit = units.find(attempt);
        if (unit == units.end() || unit->second == UnitState::Gone)
            onGone(attempt);
        else
            judgeStart(attempt);
        if (isOpen(attempt) && parts_.book.task(attempt.task).wish != Wish::None)
            parts_.units.stop(attempt);
    }
}

// The genv-job of an earlier genv-jobs tells nobody of its start mark. Without one, it must not
// start any more. If its files cannot be read, the end of its unit tells.
void Attempts::judgeStart(const AttemptName& attempt) {
    try {
        if (!files_.revoke(attempt)) {
            onStarted(attempt);
            return;
        }
    } catch (const JobError& error) {
        std::fprintf(stderr, "genv-jobs: attempt %s: %s\n", textOf(attempt).c_str(), error.what());
        return;
    }
    runners_.erase(attempt);
    parts_.book.notStarted(attempt, wallClock());
    listener_.notStarted(attempt.task, endedEarly);
}

void Attempts::onStarted(const AttemptName& attempt) {
    if (!isOpen(attempt) || parts_.book.task(attempt.task).state != TaskState::Starting)
        return;
    parts_.book.started(attempt, wallClock());
    writeLater();
    runners_.erase(attempt);
    listener_.started(attempt.task);
}

// Its unit may have been removed before the attempt began, and is then not told of again.
void Attempts::onRunnerEnded(const AttemptName& attempt) {
    if (!isOpen(attempt) || !parts_.units.isThere())
        return;
    parts_.units.list([this, attempt](const std::map<AttemptName, UnitState>& units) {
        compare({attempt}, units);
    });
}

void Attempts::onGone(const AttemptName& attempt) {
    if (!isOpen(attempt))
        return;
    try {
        judge(attempt);
        finish(attempt);
    } catch (const JobError& error) {
        std::fprintf(stderr, "genv-jobs: attempt %s: %s; trying again\n", textOf(attempt).c_str(),
                     error.what());
        unjudged_.insert(attempt);
        again_.start(beforeNextTry);
        return;
    }
    listener_.gone();
}

void Attempts::judge(const AttemptName& attempt) {
    const core::WallTime now = wallClock();
    const Task& task = parts_.book.task(attempt.task);
    runners_.erase(attempt);
    std::optional<AttemptEnding> ending = files_.ending(attempt);
    if (!ending && !files_.isClaimed(attempt) && files_.revoke(attempt)) {
        parts_.book.notStarted(attempt, now);
        listener_.notStarted(attempt.task, endedEarly);
        return;
    }
    if (!ending)
        ending = AttemptEnding{.status = -1, .signal = 0, .reason = {}, .at = now};
    if (task.wish != Wish::None)
        ending->reason.clear(); // its unit was stopped for that
    if (task.state == TaskState::Starting)
        parts_.book.started(attempt, std::min(now, ending->at));
    // A short command may end before its start is seen here.
    ending->at = std::max(ending->at, task.record().last.started.value_or(ending->at));
    parts_.book.ended(attempt, *ending);
}

// The files tell how the attempt ended until the database does.
void Attempts::finish(const AttemptName& attempt) {
    if (parts_.book.isWritten(attempt.task)) {
        files_.remove(attempt);
        finished_.erase(attempt);
    } else {
        finished_.insert(attempt);
        writeLater();
    }
}

void Attempts::tidy() {
    for (const AttemptName& attempt : std::exchange(unjudged_, {}))
        onGone(attempt);
    if (!parts_.book.writeAgain())
        std::fprintf(stderr, "genv-jobs: %s; trying again\n", parts_.book.writeError().c_str());
    for (const AttemptName& attempt : std::set<AttemptName>(finished_))
        finish(attempt);
    if (!finished_.empty() || parts_.book.mustWriteAgain())
        writeLater();
}

void Attempts::writeLater() {
    again_.start(parts_.book.writeError().empty() ? beforeWrite : beforeNextTry);
}

} // namespace genv::jobs
