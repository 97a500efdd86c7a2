// SPDX-License-Identifier: LGPL-2.1-or-later
// cancel, hold, release, requeue: change what becomes of jobs.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/job_system.hpp"
#include "client/genvctl/jobs/selection.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "core/sentences/sentences.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace genv::ctl {

namespace {

struct JobChange {
    const char* name;
    const char* help;
    const char* footer;
    const char* made;    ///< what a person reads then: "canceled"
    const char* nothing; ///< why no task was concerned
    JobSystem::Change change;
    std::span<const Example> examples;
};

constexpr std::array cancelExamples{
    Example{"Cancel a job", "genvctl cancel 17"},
    Example{"Cancel some tasks of an array", "genvctl cancel 17.100-200"},
};

constexpr JobChange cancelChange{
    "cancel",      "Cancel jobs",  "Tasks that wait never start, and those that run are ended.",
    "canceled",    "it has ended", JobSystem::Change::Cancel,
    cancelExamples};

constexpr std::array holdExamples{
    Example{"Let other jobs start before job 17", "genvctl hold 17"},
};

constexpr JobChange holdChange{"hold",
                               "Keep jobs that wait from starting",
                               "Tasks that run go on.",
                               "held",
                               "no task of it waits",
                               JobSystem::Change::Hold,
                               holdExamples};

constexpr std::array releaseExamples{
    Example{"Let it start", "genvctl release 17"},
};

constexpr JobChange releaseChange{
    "release",      "Let held jobs start",   "",
    "released",     "no task of it is held", JobSystem::Change::Release,
    releaseExamples};

constexpr std::array requeueExamples{
    Example{"Run the tasks again that failed", "genvctl requeue 17"},
};

constexpr JobChange requeueChange{
    "requeue",
    "Run jobs again",
    "Without a task: those that failed, were lost or canceled; if there are none,\n"
    "those that run, which are ended first; else all.",
    "requeued",
    "no task of it can run again",
    JobSystem::Change::Requeue,
    requeueExamples};

void tell(const JobChange& change, const JobTasks& job, std::uint32_t count) {
    if (count == 0)
        printNote(
            fmt::format("Nothing was {} in job {}: {}", change.made, job.job, change.nothing));
    else
        printNoteForPerson(
            fmt::format("{} of job {} {}", core::counted(count, "task"), job.job, change.made));
}

int tellRefusal(const Failure& failure) {
    complain(failure.what(), failure.hint());
    return static_cast<int>(failure.status());
}

// Goes on after a job that is refused, and then ends with its exit status.
void run(Context& context, const JobChange& change, const std::vector<std::string>& names) {
    std::vector<NamedTasks> named;
    for (const std::string& name : names)
        named.push_back(parseTasks(name));
    const auto system = context.openJobs();
    int worst = 0;
    for (const JobTasks& job : tasksByJob(*system, named)) {
        try {
            tell(change, job, system->change(change.change, job.job, job.tasks));
        } catch (const Error& error) {
            worst = std::max(worst, tellRefusal(context.failureOf(error)));
        } catch (const Failure& failure) {
            if (failure.status() == ExitStatus::NoService)
                throw;
            worst = std::max(worst, tellRefusal(failure));
        }
    }
    endWith(worst);
}

void add(CLI::App& app, Context& context, const JobChange& change) {
    CLI::App* command =
        addCommand(app, change.name, change.help,
                   {.onCluster = cluster::aboutUserJobs, .examples = change.examples});
    const auto names = std::make_shared<std::vector<std::string>>();
    addOption(*command, "JOB", *names, "Name jobs or tasks: 17, 17.3, 17.1-20",
              {.values = ValueKind::Job, .onCluster = cluster::mapped})
        ->required()
        ->type_name("");
    command->footer(change.footer);
    command->callback([&context, &change, names] {
        context.command = [&context, &change, names] { run(context, change, *names); };
    });
}

} // namespace

void addCancel(CLI::App& app, Context& context) {
    add(app, context, cancelChange);
}

void addHold(CLI::App& app, Context& context) {
    add(app, context, holdChange);
}

void addRelease(CLI::App& app, Context& context) {
    add(app, context, releaseChange);
}

void addRequeue(CLI::App& app, Context& context) {
    add(app, context, requeueChange);
}

} // namespace genv::ctl
