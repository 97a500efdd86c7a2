// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/cluster_jobs.hpp"

#include "client/environment_job.hpp"
#include "client/genvctl/cluster/partitions.hpp"
#include "client/genvctl/cluster/srun_request.hpp"
#include "client/genvctl/context/context.hpp"
#include "client/genvctl/environment/extension.hpp"
#include "client/genvctl/options/configuration_options.hpp"
#include "client/genvctl/options/waiting_options.hpp"
#include "client/genvctl/shell/execution.hpp"
#include "client/genvctl/shell/login_shell.hpp"
#include "client/genvctl/terminal/terminal.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace genv::ctl::cluster {

namespace {

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<Partition> partitionFor(const JobRequest& request) {
    if (request.gpus == 0)
        return std::nullopt;
    SlurmQuestion question(partitionsCommand());
    return chosenPartition(readPartitions(question.answer()), variable("SLURM_PARTITION"));
}

// If the resources are not available at once, srun exits with genvctl's status for that, unless the
// user has set SLURM_EXIT_IMMEDIATE.
[[noreturn]] void becomeSrun(const JobRequest& request) {
    requireProgram("srun");
    const std::vector<std::string> words =
        srunWords(request, partitionFor(request), readConfiguration());
    setenv("SLURM_EXIT_IMMEDIATE", std::to_string(static_cast<int>(ExitStatus::NoDevice)).c_str(),
           0);
    execute(words);
}

JobRequest readRequest(const GivenCommand& given, const Configuration& saved) {
    ConfigurationOptions typed;
    typed.name = given.value("--name");
    typed.gpus = given.value("--gpus");
    typed.gpuMemory = given.value("--gpu-memory");
    const Configuration wanted = merged(typed.read(), saved);
    WaitingOptions waiting;
    waiting.wait = given.value("--wait").value_or("");
    waiting.lifetime = given.value("--lifetime");
    ActivateOptions times;
    waiting.apply(times);

    JobRequest request;
    request.model = given.value("--model");
    request.gpus = wanted.gpus.value_or(request.model ? 1 : 0);
    request.memoryBytes = wanted.gpuMemoryBytes;
    request.name = wanted.name;
    request.waits = times.waits();
    request.maxWait = times.timeout();
    if (waiting.lifetime)
        request.lifetime = readLifetime("--lifetime", *waiting.lifetime);
    return request;
}

// An invalid .genv folder must not prevent a shell from starting.
Configuration savedConfiguration(const GivenCommand& given) {
    if (given.has("--no-load"))
        return {};
    try {
        if (const auto folder = projectFolder())
            return loadProject(*folder);
    } catch (const Failure& failure) {
        warn(failure.what(), failure.hint());
    }
    return {};
}

/// Returns the job number from the id of its environment or from a plain number. Without one,
/// returns the number of this shell's allocation.
std::string jobNumber(const GivenCommand& given) {
    const auto id = given.value("--id");
    if (!id) {
        if (const auto job = variable("SLURM_JOB_ID"))
            return *job;
        throw Failure(ExitStatus::NotInEnvironment, "this shell is in no Slurm job",
                      "Name the job: --id slurm-JOBID. \"genvctl envs\" lists the jobs with GPUs.");
    }
    if (const auto job = client::slurmJobOf(*id))
        return *job;
    if (const auto job = core::parseSlurmJobId(*id))
        return std::to_string(*job);
    throw Failure(ExitStatus::Usage, fmt::format("--id: \"{}\" is not the id of a Slurm job", *id),
                  "Expected slurm-JOBID. \"genvctl envs\" lists the jobs with GPUs.");
}

ClusterJob requireJob(const std::string& number) {
    std::vector<ClusterJob> jobs = allJobs();
    const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const ClusterJob& job) {
        return std::to_string(job.id) == number && job.state != ClusterJobState::Over;
    });
    if (found != jobs.end())
        return std::move(*found);
    throw Failure(ExitStatus::Failed, fmt::format("there is no Slurm job {}", number),
                  "\"genvctl envs\" lists the jobs with GPUs, \"genvctl queue\" those that wait.");
}

bool isThisMachine(const std::string& node) {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    const std::string own = name.data();
    return node == own || node == own.substr(0, own.find('.'));
}

} // namespace

void reportNoGpus() {
    printNote("no node of this cluster has GPUs (Gres=gpu in slurm.conf)");
}

void runJob(Context& /*context*/, const GivenCommand& given) {
    JobRequest request = readRequest(given, {});
    request.hasTerminal = given.has("--login");
    request.command =
        request.hasTerminal ? std::vector<std::string>{ownShell(), "-l"} : commandWords(*given.app);
    becomeSrun(request);
}

void runShellJob(Context& /*context*/, const GivenCommand& given) {
    JobRequest request = readRequest(given, savedConfiguration(given));
    if (given.has("--no-attach"))
        request.gpus = 0;
    request.hasTerminal = true;
    request.command = {ownShell()};
    becomeSrun(request);
}

void cancelJob(Context& /*context*/, const GivenCommand& given) {
    const std::string job = jobNumber(given);
    requireProgram("scancel");
    requireJob(job); // scancel does not report an unknown job
    askSlurmTo(fmt::format("cancel job {}", job), {"scancel", job});
}

void extendJob(Context& context, const GivenCommand& given) {
    const std::chrono::seconds lifetime = requiredLifetime(given.value("TIME"));
    const ClusterJob job = requireJob(jobNumber(given));
    if (job.state != ClusterJobState::Holding || job.batchHost.empty())
        throw Failure(ExitStatus::Failed, fmt::format("Slurm job {} has not started yet", job.id),
                      "Extend it once it runs; \"genvctl queue\" shows when.");
    if (job.gpus.empty())
        throw Failure(ExitStatus::Failed,
                      fmt::format("Slurm job {} has no GPUs, so genv does not know it", job.id),
                      "Ask an administrator: \"scontrol update JobId=... TimeLimit=+60\".");
    if (!isThisMachine(job.batchHost))
        context.options.host = job.batchHost;
    extendEnvironment(context, job.environment(), lifetime);
}

} // namespace genv::ctl::cluster
