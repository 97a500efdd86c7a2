// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jobs/submit_options.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/definition/definition.hpp"
#include "client/genvctl/jobs/array_values.hpp"
#include "client/genvctl/jobs/begin_time.hpp"
#include "client/genvctl/jobs/input.hpp"
#include "client/genvctl/jobs/job_names.hpp"
#include "client/genvctl/options/cluster_refusals.hpp"
#include "client/genvctl/options/option_values.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/base/text.hpp"
#include "core/placement/fair_order.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace genv::ctl {

namespace {

constexpr const char* jobOptions = "Job options";
constexpr std::size_t maxArrayFile = std::size_t{16} * 1024 * 1024;

/// An option of "run" that a job does not have.
struct RefusedOption {
    const char* names;
    bool hasValue;
    const char* why;
    const char* hint;
    ValueKind values;
    cluster::Meaning onCluster;
};

constexpr std::array refusedOptions{
    RefusedOption{"--wait{infinity}", false, "a job always waits for its GPUs",
                  "Leave it out. To bound the wait, cancel the job.", ValueKind::Free,
                  cluster::mapped},
    RefusedOption{"--id,--eid", true, "a job starts an environment of its own",
                  "\"genvctl run --id ID -- COMMAND\" joins one now.", ValueKind::Environment,
                  noJobIsJoined},
    RefusedOption{"--login", false, "a job has no terminal",
                  "\"genvctl run --login\" opens a shell.", ValueKind::Free,
                  cluster::withoutEffect},
    RefusedOption{"--no-prompt", false, "a job has no terminal",
                  "\"genvctl run --login --no-prompt\" opens a shell.", ValueKind::Free,
                  cluster::withoutEffect},
    RefusedOption{"--within{.}", false, "a job starts later, and has GPUs of its own",
                  "To divide the GPUs of a job, use \"genvctl run --within\" in its command.",
                  ValueKind::OwnEnvironment, dividesThisMachine},
    RefusedOption{"--no-within", false, "a job starts later, and has GPUs of its own",
                  "Leave it out.", ValueKind::Free, cluster::withoutEffect},
};

std::string firstName(const RefusedOption& option) {
    const std::string names = option.names;
    return names.substr(0, names.find_first_of(",{"));
}

// The options are known, so that the error says why they do not help.
void addRefused(CLI::App& command, std::string& value) {
    for (const RefusedOption& option : refusedOptions) {
        const OptionTraits traits{.values = option.values, .onCluster = option.onCluster};
        CLI::Option* added = option.hasValue ? addOption(command, option.names, value, "", traits)
                                             : addFlag(command, option.names, value, "", traits);
        added->type_name("TIME")->group(""); // so that the time of --wait may be the next word
    }
}

void refuseWhatJobsLack(const CLI::App& command) {
    for (const RefusedOption& option : refusedOptions) {
        const std::string name = firstName(option);
        if (command.get_option(name)->count() > 0)
            throw Failure(ExitStatus::Usage,
                          fmt::format("{} cannot be combined with a job: {}", name, option.why),
                          option.hint);
    }
}

// Returns the path in the working folder, with the folder as the shell names it.
std::string absolutePath(const std::string& path) {
    std::error_code error;
    const auto folder = std::filesystem::current_path(error);
    if (error)
        throw Failure(ExitStatus::Failed,
                      fmt::format("the working folder is not known: {}", error.message()));
    return (folder / path).lexically_normal();
}

std::string outputPath(const std::string& path, bool isArray) {
    if (path.empty())
        throw Failure(ExitStatus::Usage, "missing value for --output");
    if (isArray && path.find("{}") == std::string::npos)
        throw Failure(ExitStatus::Usage,
                      fmt::format("invalid value \"{}\" for --output: the tasks of an array would "
                                  "write to one file, expected \"{{}}\" for the value of the task",
                                  core::escaped(path)));
    const std::filesystem::path absolute = absolutePath(path);
    std::error_code error;
    if (absolute.parent_path().native().find("{}") == std::string::npos &&
        !std::filesystem::is_directory(absolute.parent_path(), error))
        throw Failure(ExitStatus::Usage,
                      fmt::format("invalid value \"{}\" for --output: there is no folder {}",
                                  core::escaped(path),
                                  core::escaped(absolute.parent_path().native(), 512)));
    if (std::filesystem::is_directory(absolute, error))
        throw Failure(ExitStatus::Usage,
                      fmt::format("invalid value \"{}\" for --output: it is a folder, expected a "
                                  "file",
                                  core::escaped(path)));
    return absolute;
}

std::string readLines(const std::string& file) {
    std::string text = readInput(file, maxArrayFile + 1);
    if (text.size() > maxArrayFile)
        throw Failure(ExitStatus::Usage, fmt::format("{} is too long for --array: expected at most "
                                                     "16 MiB",
                                                     core::escaped(file, 512)));
    return text;
}

jobs::GpuRequest requestOf(OwnEnvironmentOptions wanted) {
    wanted.meansOneGpu = true;
    const Configuration configuration = wanted.read();
    wanted.devices.check(wanted.configuration.gpus.has_value(), "--gpus");
    jobs::GpuRequest request;
    request.gpus = configuration.gpus;
    if (wanted.devices.model && !request.gpus)
        request.gpus = 1;
    request.gpuMemoryBytes = configuration.gpuMemoryBytes;
    request.indices = wanted.devices.indices;
    request.uuids = wanted.devices.uuids;
    if (wanted.devices.areNamed() || request.gpus.value_or(0) > 0)
        request.model = wanted.devices.model;
    request.overSubscribe = wanted.overSubscribe;
    request.overSubscribable = wanted.configuration.overSubscribable;
    request.preemptible = preemptibleKind(wanted.configuration.preemptible);
    if (wanted.waiting.lifetime)
        request.lifetimeSeconds = static_cast<std::uint64_t>(
            readLifetime("--lifetime", *wanted.waiting.lifetime).count());
    return request;
}

} // namespace

void SubmitOptions::addTo(CLI::App& command) {
    addOption(command, "--name", wanted.configuration.name, "Set the name of the job",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("NAME");
    wanted.addGpusTo(command);
    wanted.devices.addNamesTo(command);
    wanted.waiting.addLifetimeTo(command, "End the job");
    addOption(command, "--priority", wanted.waiting.priority,
              "Start before your own jobs below N, -100 to 100 [default: 0]",
              {.values = ValueKind::Free, .onCluster = slurmOrdersJobs})
        ->check(CLI::Range(-core::maxPriority, core::maxPriority).description(""))
        ->type_name("N")
        ->group(leaseOptions);
    addPlanTo(command);
    addFlag(command, "--detach", detach, "", {.onCluster = cluster::mapped})->group("");
    addRefused(command, refusedValue);
}

void SubmitOptions::addPlanTo(CLI::App& command) {
    command.option_defaults()->group(jobOptions);
    addOption(command, "--array", array, "Run a task for each value, at most N at once",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("VALUES[%N]");
    addOption(command, "--after", after, "Start after these jobs: 17, 17:ok, 17:fail, 17:any",
              {.values = ValueKind::Job, .onCluster = cluster::mapped})
        ->type_name("JOB[,JOB]...");
    addOption(command, "--begin", begin, "Start no earlier, such as in 2h or at 22:00",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("TIME");
    addOption(command, "--retries", retries, "Run a task that fails or is lost N times more",
              {.values = ValueKind::Free,
               .onCluster = cluster::refused(
                   "Slurm runs a job again by itself only if its node fails",
                   "Leave it out; \"genvctl requeue JOB\" runs the tasks that failed again.")})
        ->type_name("N");
    addOption(command, "--output", output, "Write the output to FILE instead of a log",
              {.values = ValueKind::File, .onCluster = cluster::mapped})
        ->type_name("FILE");
    addOption(command, "--cpus", cpus, "Limit each task to the time of N processors",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->check(CLI::PositiveNumber.description(""))
        ->type_name("N");
    addOption(command, "--memory", memory, "Limit each task to AMOUNT of memory, such as 16g",
              {.values = ValueKind::Free, .onCluster = cluster::mapped})
        ->type_name("AMOUNT");
    addFlag(command, "--hold", hold, "Start the job only after \"genvctl release\"",
            {.onCluster = cluster::mapped});
    command.option_defaults()->group("Options");
}

void SubmitOptions::check(const CLI::App& command) const {
    refuseWhatJobsLack(command);
    if (detach && hold)
        throw Failure(ExitStatus::Usage, "--hold cannot be combined with --detach",
                      "\"genvctl submit --hold\" submits a job that \"genvctl release\" starts.");
}

jobs::NewJob SubmitOptions::read(const CLI::App& command) const {
    check(command);
    jobs::NewJob job;
    job.request = requestOf(wanted);
    job.name = wanted.configuration.name;
    job.hold = hold;
    job.plan.priority = wanted.waiting.priority.value_or(0);
    job.plan.retries = retries.value_or(0);
    if (array) {
        ArrayValues values = parseArray(*array, readLines);
        job.isArray = true;
        job.tasks = std::move(values.tasks);
        job.plan.parallel = values.parallel;
    }
    if (after)
        job.plan.after = parseAfter(*after);
    if (begin)
        job.plan.begin = parseBegin(*begin, currentTime());
    if (output)
        job.output = outputPath(*output, job.isArray);
    job.cpus = cpus;
    job.memoryBytes = readMemory("--memory", memory);
    if (job.memoryBytes == 0U)
        throw Failure(ExitStatus::Usage, "invalid value for --memory: expected at least one byte");
    return job;
}

} // namespace genv::ctl
