// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/jobs/sbatch.hpp"

#include "client/genvctl/cluster/jobs/batch_script.hpp"
#include "client/genvctl/cluster/jobs/output_path.hpp"
#include "client/genvctl/cluster/jobs/task_list.hpp"
#include "client/genvctl/cluster/srun_request.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/jobs/shell_words.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/jobs/model/submission.hpp"
#include "core/base/time.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace genv::ctl::cluster {

namespace {

bool hasSbatchLines(const Work& work) {
    return work.script && !sbatchLines(work.script->text).empty();
}

const char* dependencyWord(jobs::Condition condition) {
    switch (condition) {
    case jobs::Condition::Ok:
        return "afterok";
    case jobs::Condition::Fail:
        return "afternotok";
    case jobs::Condition::Any:
        break;
    }
    return "afterany";
}

std::string dependencyText(const std::vector<jobs::Dependency>& after) {
    std::vector<std::string> all;
    for (const jobs::Dependency& dependency : after)
        all.push_back(fmt::format("{}:{}", dependencyWord(dependency.condition), dependency.job));
    return joined(all, ",");
}

std::string arrayText(const jobs::NewJob& job) {
    std::vector<std::uint32_t> numbers;
    for (const jobs::TaskValue& task : job.tasks)
        numbers.push_back(task.number);
    std::string text = taskListText(numbers);
    if (job.plan.parallel > 0)
        text += fmt::format("%{}", job.plan.parallel);
    return text;
}

// In Slurm, the values of tasks are numbers. A file cannot be named after a word.
void requireNumberedOutput(const jobs::NewJob& job) {
    const bool areNumbers =
        std::all_of(job.tasks.begin(), job.tasks.end(), [](const jobs::TaskValue& task) {
            return task.value == std::to_string(task.number);
        });
    if (!areNumbers)
        throw Failure(
            ExitStatus::Usage,
            "--output: Slurm names the output of a task by its number, and knows no words",
            "Leave --output out, or number the tasks: \"--array 1-N\".");
}

// Slurm counts host memory in KiB at least.
std::string memoryText(std::uint64_t bytes) {
    constexpr std::uint64_t kibibyte = 1024;
    return fmt::format("--mem={}K", bytes / kibibyte + (bytes % kibibyte != 0 ? 1 : 0));
}

void addGpus(std::vector<std::string>& words, const Work& work,
             const std::optional<Partition>& partition, const ClientConfiguration& configuration) {
    JobRequest request;
    request.gpus = gpusOf(work);
    if (request.gpus == 0 || !partition)
        return;
    request.model = work.job.request.model;
    request.memoryBytes = work.job.request.gpuMemoryBytes;
    addDevices(words, request, *partition, configuration);
}

void addSbatchPlan(std::vector<std::string>& words, const jobs::NewJob& job) {
    if (job.isArray)
        words.push_back("--array=" + arrayText(job));
    if (!job.plan.after.empty()) {
        words.push_back("--dependency=" + dependencyText(job.plan.after));
        words.emplace_back("--kill-on-invalid-dep=yes");
    }
    if (job.plan.begin)
        words.push_back(
            fmt::format("--begin={:%Y-%m-%dT%H:%M:%S}", core::localTime(*job.plan.begin)));
    if (job.hold)
        words.emplace_back("--hold");
}

} // namespace

std::optional<std::string> partitionOfScript(const Work& work) {
    std::optional<std::string> partition;
    if (!work.script)
        return partition;
    for (const std::string& line : sbatchLines(work.script->text)) {
        const auto words = shellWords(line.substr(line.find_first_of(" \t")));
        for (std::size_t i = 0; words && i < words->size(); ++i) {
            const std::string& word = (*words)[i];
            constexpr std::string_view assigned = "--partition=";
            if (word.starts_with(assigned))
                partition = word.substr(assigned.size());
            else if ((word == "-p" || word == "--partition") && i + 1 < words->size())
                partition = (*words)[i + 1];
            else if (word.starts_with("-p") && word.size() > 2)
                partition = word.substr(2);
        }
    }
    return partition;
}

std::uint32_t gpusOf(const Work& work) {
    return work.namesGpus || !hasSbatchLines(work) ? work.job.request.gpus.value_or(0) : 0;
}

std::vector<std::string> sbatchWords(const Work& work, const std::optional<Partition>& partition,
                                     const ClientConfiguration& configuration) {
    const jobs::NewJob& job = work.job;
    std::vector<std::string> words{"sbatch", "--parsable"};
    if (!hasSbatchLines(work))
        words.insert(words.end(), {"-N1", "-n1"});
    addGpus(words, work, partition, configuration);
    if (job.request.lifetimeSeconds)
        words.push_back("--time=" + slurmTime(std::chrono::seconds(*job.request.lifetimeSeconds)));
    if (job.name || !hasSbatchLines(work))
        words.push_back("--job-name=" + job.name.value_or(jobs::summaryOf(job.command)));
    addSbatchPlan(words, job);
    if (job.output) {
        if (job.isArray)
            requireNumberedOutput(job);
        words.push_back("--output=" + outputPattern(*job.output, job.isArray));
    }
    if (job.cpus)
        words.push_back(fmt::format("--cpus-per-task={}", *job.cpus));
    if (job.memoryBytes)
        words.push_back(memoryText(*job.memoryBytes));
    return words;
}

} // namespace genv::ctl::cluster
