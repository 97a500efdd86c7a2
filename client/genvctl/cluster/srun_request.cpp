// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/srun_request.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace genv::ctl::cluster {

namespace {

// Slurm needs a second or two to find free GPUs. With --immediate=1, which is the same as
// --immediate, it refuses a job as soon as another job is pending in the same partition for any
// reason.
constexpr std::chrono::seconds defaultWait{5};
constexpr std::chrono::seconds minWait{2};

std::string lowerCaseOf(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
}

/// Returns the names that match a model: the equal name if there is one, else the names that
/// contain it.
std::vector<std::string> fitting(const std::set<std::string>& names, const std::string& model) {
    const std::string wanted = lowerCaseOf(model);
    std::vector<std::string> fitting;
    for (const std::string& name : names) {
        const std::string known = lowerCaseOf(name);
        if (known == wanted)
            return {name};
        if (known.find(wanted) != std::string::npos)
            fitting.push_back(name);
    }
    return fitting;
}

std::string listOf(const std::set<std::string>& names) {
    return names.empty() ? "none" : joined(std::vector(names.begin(), names.end()), ", ");
}

/// How srun selects a model: by a type of gres.conf, or by a feature of nodes.
struct ModelChoice {
    std::string type;
    std::string feature;
};

/// Returns the only name that matches a model, or an empty text if none does. `what` is used in
/// error messages.
std::string onlyFitting(const std::string& model, const std::set<std::string>& names,
                        const char* what) {
    const std::vector<std::string> found = fitting(names, model);
    if (found.size() > 1)
        throw Failure(
            ExitStatus::Usage,
            fmt::format("--model: \"{}\" fits several {}: {}", model, what, joined(found, ", ")),
            "Name one of them.");
    return found.empty() ? "" : found.front();
}

ModelChoice choose(const JobRequest& request, const Partition& partition) {
    const std::string& model = *request.model;
    std::string type = onlyFitting(model, partition.types, "types of GPUs");
    // srun allocates typed shards, but then refuses to run a command with them.
    if (!type.empty() && !request.memoryBytes)
        return {std::move(type), ""};
    std::string feature = onlyFitting(model, partition.features, "features of nodes");
    if (!feature.empty())
        return {"", std::move(feature)};
    if (!type.empty())
        throw Failure(ExitStatus::Usage,
                      "--gpu-memory: Slurm gives no shards by the type of their GPU",
                      fmt::format("Leave --model out, or name a feature of nodes: {}.",
                                  listOf(partition.features)));
    throw Failure(ExitStatus::NoDevice,
                  fmt::format("the partition {} has no GPUs \"{}\"", partition.name, model),
                  fmt::format("Types of GPUs there: {}. Features of nodes with GPUs: {}.",
                              listOf(partition.types), listOf(partition.features)));
}

std::uint32_t shardsFor(const JobRequest& request, const Partition& partition,
                        const ClientConfiguration& configuration) {
    constexpr const char* wholeHint = "Leave --gpu-memory out to get whole GPUs.";
    if (partition.shardsPerGpu == 0)
        throw Failure(ExitStatus::Usage,
                      fmt::format("--gpu-memory: the partition {} shares no GPU among jobs: its "
                                  "nodes have no shards",
                                  partition.name),
                      wholeHint);
    if (!configuration.shardBytes)
        throw Failure(ExitStatus::Usage,
                      "--gpu-memory: Slurm counts shards, and genv.conf does not say how much "
                      "memory one stands for",
                      fmt::format("Ask an administrator to set ShardMemory= in {}. {}",
                                  configurationFile(), wholeHint));
    if (request.gpus > 1)
        throw Failure(ExitStatus::Usage,
                      "--gpu-memory: Slurm gives a job shards of one GPU, not of several",
                      fmt::format("Ask for \"--gpus 1\". {}", wholeHint));
    const std::uint64_t size = *configuration.shardBytes;
    const std::uint64_t count = *request.memoryBytes / size + (*request.memoryBytes % size ? 1 : 0);
    if (count > partition.shardsPerGpu)
        throw Failure(ExitStatus::NoDevice,
                      fmt::format("--gpu-memory: no GPU of the partition {} has more than {}",
                                  partition.name,
                                  core::nameMemory({partition.shardsPerGpu * size})),
                      wholeHint);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(count, 1));
}

void requireCount(const JobRequest& request, const Partition& partition) {
    if (request.gpus > partition.maxGpus)
        throw Failure(ExitStatus::NoDevice,
                      fmt::format("no node of the partition {} has {}: at most {}", partition.name,
                                  core::counted(request.gpus, "GPU"), partition.maxGpus),
                      "A job of genvctl runs on one node; \"srun\" itself runs on several.");
}

} // namespace

void addDevices(std::vector<std::string>& words, const JobRequest& request,
                const Partition& partition, const ClientConfiguration& configuration) {
    requireCount(request, partition);
    const ModelChoice model = request.model ? choose(request, partition) : ModelChoice{};
    if (request.memoryBytes)
        words.push_back(
            fmt::format("--gres=shard:{}", shardsFor(request, partition, configuration)));
    else
        words.push_back(
            fmt::format("--gpus={}{}{}", model.type, model.type.empty() ? "" : ":", request.gpus));
    if (!model.feature.empty())
        words.push_back("--constraint=" + model.feature);
}

std::string slurmTime(std::chrono::seconds time) {
    const auto days = std::chrono::duration_cast<std::chrono::days>(time);
    const auto rest = time - days;
    const auto hours = std::chrono::duration_cast<std::chrono::hours>(rest);
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(rest - hours);
    const auto seconds = rest - hours - minutes;
    const std::string clock =
        fmt::format("{:02}:{:02}:{:02}", hours.count(), minutes.count(), seconds.count());
    return days.count() > 0 ? fmt::format("{}-{}", days.count(), clock) : clock;
}

std::vector<std::string> srunWords(const JobRequest& request,
                                   const std::optional<Partition>& partition,
                                   const ClientConfiguration& configuration) {
    // In an allocation for several tasks, srun would start the command once for each task.
    std::vector<std::string> words{"srun", "-N1", "-n1"};
    if (request.gpus > 0 && partition)
        addDevices(words, request, *partition, configuration);
    if (request.lifetime)
        words.push_back("--time=" + slurmTime(*request.lifetime));
    if (request.name)
        words.push_back("--job-name=" + *request.name);
    if (!request.waits)
        words.push_back(fmt::format("--immediate={}", defaultWait.count()));
    else if (request.maxWait)
        words.push_back(fmt::format("--immediate={}", std::max(*request.maxWait, minWait).count()));
    if (request.hasTerminal)
        words.emplace_back("--pty");
    words.emplace_back("--");
    words.insert(words.end(), request.command.begin(), request.command.end());
    return words;
}

} // namespace genv::ctl::cluster
