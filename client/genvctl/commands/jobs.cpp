// SPDX-License-Identifier: LGPL-2.1-or-later
// jobs, job: list the jobs of the user, and describe one.
#include "client/genvctl/commands/commands.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/job_system.hpp"
#include "client/genvctl/jobs/job_text.hpp"
#include "client/genvctl/jobs/selection.hpp"
#include "client/genvctl/options/listing_options.hpp"
#include "client/genvctl/terminal/terminal.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace genv::ctl {

namespace {

struct JobsArguments {
    ListingOptions listing;
    bool all = false;
    bool machines = false;
};

void listMachines(const GlobalOptions& global, const JobsArguments& arguments) {
    const std::vector<MachineJob> jobs = jobsOfOtherMachines(arguments.all);
    Json json = Json::array();
    for (const MachineJob& job : jobs)
        json.push_back(toJson(job));
    if (!printJson(global, json))
        arguments.listing.print(global, jobsTable(jobs, currentTime()));
}

void listJobs(Context& context, const JobsArguments& arguments) {
    const std::vector<jobs::JobRow> jobs = context.openJobs()->list(arguments.all);
    Json json = Json::array();
    for (const jobs::JobRow& job : jobs)
        json.push_back(toJson(job));
    if (printJson(context.options, json))
        return;
    arguments.listing.print(context.options, jobsTable(jobs, currentTime()));
    if (jobs.empty() && !arguments.all)
        printNoteForPerson("No job waits or runs; \"genvctl jobs --all\" lists earlier ones.");
}

// Returns the tasks that are shown one by one: of an array, those that are neither waiting nor
// done.
std::vector<jobs::TaskRow> remarkable(std::vector<jobs::TaskRow> tasks) {
    std::erase_if(tasks, [](const jobs::TaskRow& task) {
        return task.isWaiting() || task.state == "done" || task.state == "canceled";
    });
    return tasks;
}

void describeArray(const jobs::JobDescription& job, const std::vector<jobs::TaskRow>& tasks) {
    print(jobReport(job, tasks, currentTime()));
    const std::vector<jobs::TaskRow> shownTasks = remarkable(tasks);
    if (shownTasks.empty())
        return;
    Table table = tasksTable(shownTasks, currentTime());
    if (const auto width = terminalWidth())
        table.fit(*width);
    const HeaderEmphasis emphasis = headerEmphasis();
    print('\n' + table.text(true, emphasis.before, emphasis.after));
}

void describeJob(Context& context, const std::string& name) {
    const NamedTasks named = parseTask(name);
    const auto system = context.openJobs();
    const jobs::JobDescription job = system->get(named.job);
    const std::vector<jobs::TaskRow> tasks = describeTasks(*system, named);
    if (printJson(context.options, toJson(job, tasks)))
        return;
    if (job.isArray && named.isWhole)
        describeArray(job, tasks);
    else if (job.isArray)
        print(taskReport(job, tasks.at(0), currentTime()));
    else
        print(jobReport(job, tasks, currentTime()));
}

} // namespace

constexpr std::array jobsExamples{
    Example{"List your jobs", "genvctl jobs"},
    Example{"Print the numbers of those that failed",
            "genvctl jobs --json | jq '.[] | select(.failed > 0) | .job'"},
};

void addJobs(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "jobs", "List your jobs",
                                   {.onCluster = cluster::aboutUserJobs, .examples = jobsExamples});
    const auto arguments = std::make_shared<JobsArguments>();
    arguments->listing.addFormatTo(*command);
    addFlag(*command, "--all", arguments->all, "List also jobs that ended more than a day ago",
            {.onCluster = cluster::mapped});
    addFlag(*command, "--machines", arguments->machines,
            "List the jobs of other machines that share your home",
            {.onCluster = cluster::refused(
                 "Slurm has one list for all its machines",
                 "\"genvctl jobs\" shows it; with \"--cluster none\" it is about your home.")});
    command->callback([&context, arguments] {
        context.command = [&context, arguments] {
            if (arguments->machines)
                listMachines(context.options, *arguments);
            else
                listJobs(context, *arguments);
        };
    });
}

constexpr std::array jobExamples{
    Example{"Describe a job", "genvctl job 17"},
    Example{"Describe a task of an array", "genvctl job 17.3"},
};

void addJob(CLI::App& app, Context& context) {
    CLI::App* command = addCommand(app, "job", "Describe a job",
                                   {.onCluster = cluster::aboutUserJobs, .examples = jobExamples});
    const auto job = std::make_shared<std::string>();
    addOption(*command, "JOB", *job, "Describe this job or task: 17 or 17.3",
              {.values = ValueKind::Job, .onCluster = cluster::mapped})
        ->required()
        ->type_name("");
    command->callback(
        [&context, job] { context.command = [&context, job] { describeJob(context, *job); }; });
}

} // namespace genv::ctl
