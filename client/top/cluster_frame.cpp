// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/cluster_objects.hpp"
#include "client/genvctl/cluster/questions.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"
#include "client/top/collector.hpp"
#include "client/top/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace genv::top {

namespace {

using namespace ctl::cluster;

// Returns the GPUs by node and index.
using Places = std::map<std::pair<std::string, std::uint32_t>, std::size_t>;

void addNode(Frame& frame, Places& places, const ClusterNode& node) {
    for (std::uint32_t i = 0; i < node.gres.models.size(); ++i) {
        Gpu gpu;
        gpu.index = static_cast<std::uint32_t>(frame.gpus.size());
        gpu.label = fmt::format("{}:{}", node.name, i);
        gpu.model = node.gres.models[i];
        if (!node.trouble.empty())
            gpu.health = node.trouble;
        gpu.isFree = node.trouble.empty();
        places[{node.name, i}] = frame.gpus.size();
        frame.gpus.push_back(std::move(gpu));
    }
}

void addHolder(Frame& frame, const Places& places, const ClusterJob& job, const JobGpu& held) {
    if (!held.gres.index)
        return; // Slurm does not say which GPU it is
    const auto place = places.find({held.node, *held.gres.index});
    if (place == places.end())
        return;
    GpuHolder holder;
    holder.environment = job.environment();
    if (!job.name.empty())
        holder.name = job.name;
    holder.user = job.user;
    holder.uid = job.uid;
    holder.since = job.begins.value_or(job.submitted);
    frame.gpus[place->second].isFree = false;
    frame.gpus[place->second].holders.push_back(std::move(holder));
}

Waiter waiterOf(const ClusterJob& job) {
    Waiter waiter;
    waiter.ticket = job.id;
    waiter.environment = job.environment();
    if (!job.name.empty())
        waiter.name = job.name;
    waiter.user = job.user;
    waiter.uid = job.uid;
    const bool isShards = job.wanted.gpus == 0;
    const std::uint32_t count = isShards ? job.wanted.shards : job.wanted.gpus;
    waiter.wanted =
        fmt::format("{} {}{}", count, isShards ? "shard" : "GPU", count == 1 ? "" : "s");
    waiter.since = job.submitted;
    waiter.reason = job.reason;
    return waiter;
}

/// The answers of Slurm.
struct ClusterAnswers {
    Nodes nodes;
    Jobs jobs;
};

ClusterAnswers askSlurm() {
    SlurmQuestion nodes(nodesCommand());
    SlurmQuestion jobs(jobsCommand());
    return {understood(nodes, readNodes), understood(jobs, readJobs)};
}

Frame frameOf(const ClusterAnswers& answers) {
    const auto& [nodes, jobs] = answers;
    Frame frame;
    frame.when = ctl::currentTime();
    frame.isCluster = true;
    frame.uid = geteuid();
    frame.isEmpty = false;
    Places places;
    for (const ClusterNode& node : nodes)
        addNode(frame, places, node);
    for (const ClusterJob& job : waitingJobs(jobs)) {
        frame.waiters.push_back(waiterOf(job));
        frame.waiters.back().place = frame.waiters.size();
    }
    for (const ClusterJob& job : jobs) {
        if (job.state != ClusterJobState::Holding || job.gpus.empty())
            continue;
        ++frame.environments;
        for (const JobGpu& gpu : job.gpus)
            addHolder(frame, places, job, gpu);
    }
    return frame;
}

} // namespace

Frame readCluster() {
    return frameOf(askSlurm());
}

ctl::Json readClusterJson(const std::vector<std::uint32_t>& gpus) {
    const ClusterAnswers answers = askSlurm();
    ctl::Json devices = ctl::Json::array();
    std::uint32_t number = 0;
    for (ctl::Json& device : devicesJson(answers.nodes, answers.jobs)) {
        const bool isNumbered = !device["index"].is_null();
        if (gpus.empty() || (isNumbered && std::ranges::find(gpus, number) != gpus.end()))
            devices.push_back(std::move(device));
        number += isNumbered ? 1 : 0;
    }
    return jsonOf(frameOf(answers),
                  {std::move(devices), jobsJson(answers.jobs), nullptr, queueJson(answers.jobs)});
}

} // namespace genv::top
