// SPDX-License-Identifier: LGPL-2.1-or-later
// logs: prints the output of a job, and follows it until the job ends.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/job_system.hpp"
#include "client/genvctl/jobs/job_text.hpp"
#include "client/genvctl/jobs/log_file.hpp"
#include "client/genvctl/jobs/log_watch.hpp"
#include "client/genvctl/jobs/selection.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

namespace {

struct LogsArguments {
    std::string job;
    bool follow = false;
    std::optional<std::size_t> tail;
};

/// Prints the logs of tasks. Several have headings, as those of tail(1).
class LogPrinter {
  public:
    LogPrinter(NamedTasks named, bool hasHeadings, std::optional<std::size_t> lines)
        : named_(named), hasHeadings_(hasHeadings), lines_(lines) {}

    /// Prints the new part of a task's log. Returns whether the log exists.
    bool print(const jobs::TaskRow& task) {
        LogFile& log = logs_.try_emplace(task.number, task.log, lines_).first->second;
        if (log.hasMore()) {
            printHeading(task);
            log.print();
        }
        return log.open();
    }
    /// Closes the log of a task that has ended.
    void close(std::uint32_t task) { logs_.erase(task); }

  private:
    void printHeading(const jobs::TaskRow& task) {
        if (!hasHeadings_ || last_ == task.number)
            return;
        ctl::print(fmt::format("{}==> {}.{} ({}) <==\n", last_ ? "\n" : "", named_.job, task.number,
                               shown(task.value)));
        last_ = task.number;
    }

    NamedTasks named_;
    bool hasHeadings_;
    std::optional<std::size_t> lines_;
    std::map<std::uint32_t, LogFile> logs_;
    std::optional<std::uint32_t> last_; ///< the task of the last heading
};

[[noreturn]] void failWithoutLog(const NamedTasks& named, const std::vector<jobs::TaskRow>& tasks) {
    const bool waits = std::ranges::any_of(tasks, &jobs::TaskRow::isWaiting);
    if (waits && tasks.size() == 1)
        throw Failure(
            ExitStatus::Failed,
            fmt::format("job {} has no output yet: {}", named.job, stateText(tasks.front())),
            "\"genvctl logs -f\" waits for it.");
    if (waits)
        throw Failure(ExitStatus::Failed, fmt::format("job {} has no output yet", named.job),
                      "\"genvctl logs -f\" waits for it.");
    throw Failure(ExitStatus::Failed,
                  tasks.size() == 1 ? fmt::format("job {} has no output: there is no file {}",
                                                  named.job, tasks.front().log)
                                    : fmt::format("job {} has no output", named.job),
                  fmt::format("\"genvctl job {}\" shows how it ended.", named.job));
}

void printLogs(const NamedTasks& named, const std::vector<jobs::TaskRow>& tasks,
               LogPrinter& printer) {
    bool found = false;
    for (const jobs::TaskRow& task : tasks) {
        found = printer.print(task) || found;
        printer.close(task.number);
    }
    if (!found)
        failWithoutLog(named, tasks);
}

/// Follows the logs of tasks until all have ended.
class Follower {
  public:
    Follower(JobSystem& system, jobs::JobNumber job, LogPrinter& printer)
        : system_(system), job_(job), printer_(printer) {}

    /// Returns the worst exit status.
    int run(std::vector<jobs::TaskRow> tasks) {
        auto untilNote = std::optional(beforeNote);
        for (;;) {
            printNew(tasks);
            if (tasks.empty())
                return status_;
            const auto changes = system_.await(watch_.descriptor(), untilNote);
            if (untilNote && !changes.all && changes.jobs.empty()) {
                noteWaiting(tasks);
                untilNote.reset();
            }
            watch_.drain();
            if (changes.all || changes.jobs.contains(job_))
                tasks = system_.tasks(job_, numbersOf(tasks));
        }
    }

  private:
    // Most jobs start sooner, and need no note.
    static constexpr std::chrono::milliseconds beforeNote{1000};

    static void noteWaiting(const std::vector<jobs::TaskRow>& tasks) {
        if (std::ranges::all_of(tasks, &jobs::TaskRow::isWaiting))
            printNoteForPerson(
                fmt::format("{}. Ctrl-C ends only this command", stateText(tasks.front())));
    }

    static std::vector<std::uint32_t> numbersOf(const std::vector<jobs::TaskRow>& tasks) {
        std::vector<std::uint32_t> numbers;
        for (const jobs::TaskRow& task : tasks)
            numbers.push_back(task.number);
        return numbers;
    }

    // The output of a task that has ended is complete, since its state was read before.
    void printNew(std::vector<jobs::TaskRow>& tasks) {
        for (const jobs::TaskRow& task : tasks) {
            if (task.isWaiting())
                continue;
            watch_.add(task.log);
            printer_.print(task);
            if (task.hasEnded()) {
                printer_.close(task.number);
                status_ = std::max(status_, statusOf(task));
            }
        }
        std::erase_if(tasks, [](const jobs::TaskRow& task) { return task.hasEnded(); });
    }

    JobSystem& system_;
    jobs::JobNumber job_;
    LogPrinter& printer_;
    LogWatch watch_;
    int status_ = 0;
};

void runLogs(Context& context, const LogsArguments& arguments) {
    const NamedTasks named = parseTask(arguments.job);
    const auto system = context.openJobs();
    if (arguments.follow)
        system->listen();
    const jobs::JobDescription job = system->get(named.job);
    const std::vector<jobs::TaskRow> tasks = describeTasks(*system, named);
    LogPrinter printer(named, job.isArray && named.isWhole, arguments.tail);
    if (!arguments.follow) {
        printLogs(named, tasks, printer);
        return;
    }
    endWith(Follower(*system, named.job, printer).run(tasks));
}

} // namespace

constexpr std::array logsExamples{
    Example{"Follow the output of a job", "genvctl logs -f 17"},
};

void addLogs(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "logs", "Print or follow the output of a job",
                                   {.onCluster = cluster::aboutUserJobs, .examples = logsExamples});
    const auto arguments = std::make_shared<LogsArguments>();
    addOption(*command, "JOB", arguments->job, "Print the output of this job or task: 17 or 17.3",
              {.values = ValueKind::Job, .onCluster = cluster::mapped})
        ->required()
        ->type_name("");
    addFlag(*command, "-f,--follow", arguments->follow, "Print new output until the job ends",
            {.onCluster = cluster::mapped});
    addOption(*command, "--tail", arguments->tail, "Print only the last N lines so far",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("N");
    command->footer(
        "With --follow, a job that waits is waited for, Ctrl-C ends only this command,\n"
        "and the exit status is the job's.");
    command->callback([&context, arguments] {
        context.command = [&context, arguments] { runLogs(context, *arguments); };
    });
}

} // namespace genv::ctl
