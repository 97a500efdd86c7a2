// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/cluster_listings.hpp"

#include "client/genvctl/cluster/questions.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <map>

namespace genv::ctl::cluster {

namespace {

// Returns the text of a GPU's cell after the time.
std::string partText(const HeldGres& gres) {
    if (!gres.isShared)
        return "";
    return gres.shards ? fmt::format(" ({} shard{})", *gres.shards, *gres.shards == 1 ? "" : "s")
                       : " (shared)";
}

std::string wantedText(const WantedGres& wanted) {
    return wanted.gpus > 0 ? std::to_string(wanted.gpus) : fmt::format("{} shards", wanted.shards);
}

// Returns "node1:0,1 node2:0", with "?" for a GPU whose index Slurm does not report.
std::string devicesText(const ClusterJob& job) {
    std::map<std::string, std::vector<std::string>> indices;
    for (const JobGpu& gpu : job.gpus)
        indices[gpu.node].push_back(gpu.gres.index ? std::to_string(*gpu.gres.index) : "?");
    std::vector<std::string> nodes;
    for (const auto& [node, ids] : indices)
        nodes.push_back(node + ":" + joined(ids, ","));
    return joined(nodes, " ");
}

} // namespace

Table devicesTable(const Nodes& nodes, const Jobs& jobs, const ListingOptions& options) {
    Table table({{"NODE", 12},
                 {"ID", 5},
                 {"ENV ID", 15},
                 {"ENV NAME", 16, 2},
                 {"ATTACHED", 16, 3},
                 {"USER", 16, 1, true},
                 {"MODEL", 0, 4, true}});
    for (const ClusterDevice& device : clusterDevices(nodes, jobs)) {
        const ClusterNode& node = *device.node;
        const std::string id = device.index ? std::to_string(*device.index) : "?";
        const std::string trouble = node.trouble.empty() || options.format == "csv"
                                        ? ""
                                        : fmt::format("(node {})", node.trouble);
        if (device.holders.empty())
            table.add({node.name, id, "", "", trouble, "", device.model()});
        for (const auto& [job, gpu] : device.holders)
            table.add(
                {node.name, id, job->environment(), job->name,
                 options.time(sinceOf(*job)) + (options.format == "csv" ? "" : partText(gpu->gres)),
                 fmt::format("{}({})", job->user, job->uid), device.model()});
    }
    return table;
}

Table jobsTable(const Jobs& jobs, const ListingOptions& options) {
    Table table({{"ID", 15},
                 {"USER", 16},
                 {"NAME", 16},
                 {"CREATED", 18},
                 {"NODE(S)", 12},
                 {"DEVICES", 0, 1, true}});
    for (const ClusterJob& job : jobs) {
        if (hasGpus(job))
            table.add({job.environment(), fmt::format("{}({})", job.user, job.uid), job.name,
                       options.time(sinceOf(job)), job.nodes, devicesText(job)});
    }
    return table;
}

Table queueTable(const Jobs& jobs, const ListingOptions& options, Time now) {
    Table table({{"POSITION", 9},
                 {"ENV ID", 13},
                 {"USER", 13},
                 {"GPUS", 6},
                 {"SINCE", 15},
                 {"STARTS", 14},
                 {"REASON", 0}});
    std::size_t position = 0;
    for (const ClusterJob& job : waitingJobs(jobs)) {
        const std::string starts = !job.begins         ? ""
                                   : options.timestamp ? timestamp(*job.begins)
                                                       : relativeFuture(*job.begins, now);
        table.add({std::to_string(++position), job.environment(),
                   fmt::format("{}({})", job.user, job.uid), wantedText(job.wanted),
                   options.time(job.submitted), starts, job.reason});
    }
    return table;
}

} // namespace genv::ctl::cluster
