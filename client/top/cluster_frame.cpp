// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/questions.hpp"
#include "client/genvctl/terminal/text.hpp"
#include "client/top/collector.hpp"

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
    Holder holder;
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

} // namespace

Frame readCluster() {
    SlurmQuestion nodesQuestion(nodesCommand());
    SlurmQuestion jobsQuestion(jobsCommand());
    const auto nodes = understood(nodesQuestion, readNodes);
    const auto jobs = understood(jobsQuestion, readJobs);
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
        if (job.state != JobState::Holding || job.gpus.empty())
            continue;
        ++frame.environments;
        for (const JobGpu& gpu : job.gpus)
            addHolder(frame, places, job, gpu);
    }
    return frame;
}

} // namespace genv::top
