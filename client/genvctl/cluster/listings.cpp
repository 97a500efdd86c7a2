// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/listings.hpp"

#include "client/genvctl/terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace genv::ctl::cluster {

namespace {

/// A job that holds a GPU.
struct Holder {
    const ClusterJob* job = nullptr;
    HeldGres gres;
};

/// The holders on a node: those of each GPU by its index, and those whose GPU Slurm does not
/// report.
struct NodeHolders {
    std::map<std::uint32_t, std::vector<Holder>> known;
    std::vector<Holder> unknown;
};

std::unordered_map<std::string, NodeHolders> holdersByNode(const Jobs& jobs) {
    std::unordered_map<std::string, NodeHolders> holders;
    for (const ClusterJob& job : jobs) {
        for (const JobGpu& gpu : job.gpus) {
            NodeHolders& there = holders[gpu.node];
            if (gpu.gres.index)
                there.known[*gpu.gres.index].push_back({&job, gpu.gres});
            else
                there.unknown.push_back({&job, gpu.gres});
        }
    }
    return holders;
}

Json optionalText(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json holdersJson(const std::vector<Holder>& holders) {
    Json all = Json::array();
    for (const Holder& holder : holders)
        all.push_back({{"environment", holder.job->environment()},
                       {"name", optionalText(holder.job->name)},
                       {"gpu_memory", nullptr},
                       {"since", toJson(holder.job->begins.value_or(holder.job->submitted))},
                       {"lingering", false},
                       {"user", holder.job->user},
                       {"shared", holder.gres.isShared},
                       {"shards", orNull(holder.gres.shards)}});
    return all;
}

// Returns an empty text if Slurm knows no type for the GPU.
std::string modelOf(const ClusterNode& node, std::optional<std::uint32_t> index) {
    return index && *index < node.gres.models.size() ? node.gres.models[*index] : std::string();
}

Json deviceJson(const ClusterNode& node, std::optional<std::uint32_t> index,
                const std::vector<Holder>& holders) {
    return {{"node", node.name},
            {"index", orNull(index)},
            {"uuid", nullptr},
            {"model", optionalText(modelOf(node, index))},
            {"total_memory", nullptr},
            {"state", node.trouble.empty() ? "ok" : node.trouble},
            {"attachments", holdersJson(holders)}};
}

/// Calls `use` for each GPU of each node, with its holders.
template <typename Use>
void forEachDevice(const Nodes& nodes, const Jobs& jobs, Use use) {
    auto holders = holdersByNode(jobs);
    for (const ClusterNode& node : nodes) {
        NodeHolders& there = holders[node.name];
        for (std::uint32_t i = 0; i < node.gres.models.size(); ++i)
            use(node, std::optional(i), there.known[i]);
        if (!there.unknown.empty())
            use(node, std::optional<std::uint32_t>(), there.unknown);
    }
}

// Returns the text of a GPU's cell after the time.
std::string partText(const HeldGres& gres) {
    if (!gres.isShared)
        return "";
    return gres.shards ? fmt::format(" ({} shard{})", *gres.shards, *gres.shards == 1 ? "" : "s")
                       : " (shared)";
}

bool hasGpus(const ClusterJob& job) {
    return job.state == JobState::Holding && !job.gpus.empty();
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

Time sinceOf(const ClusterJob& job) {
    return job.begins.value_or(job.submitted);
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
    forEachDevice(nodes, jobs,
                  [&](const ClusterNode& node, std::optional<std::uint32_t> index,
                      const std::vector<Holder>& holders) {
                      const std::string id = index ? std::to_string(*index) : "?";
                      const std::string trouble = node.trouble.empty() || options.format == "csv"
                                                      ? ""
                                                      : fmt::format("(node {})", node.trouble);
                      const std::string model = modelOf(node, index);
                      if (holders.empty())
                          table.add({node.name, id, "", "", trouble, "", model});
                      for (const Holder& holder : holders)
                          table.add({node.name, id, holder.job->environment(), holder.job->name,
                                     options.time(sinceOf(*holder.job)) +
                                         (options.format == "csv" ? "" : partText(holder.gres)),
                                     fmt::format("{}({})", holder.job->user, holder.job->uid),
                                     model});
                  });
    return table;
}

Json devicesJson(const Nodes& nodes, const Jobs& jobs) {
    Json all = Json::array();
    forEachDevice(nodes, jobs,
                  [&](const ClusterNode& node, std::optional<std::uint32_t> index,
                      const std::vector<Holder>& holders) {
                      all.push_back(deviceJson(node, index, holders));
                  });
    return all;
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

Json jobsJson(const Jobs& jobs) {
    Json all = Json::array();
    for (const ClusterJob& job : jobs) {
        if (!hasGpus(job))
            continue;
        Json devices = Json::array();
        for (const JobGpu& gpu : job.gpus)
            devices.push_back({{"node", gpu.node},
                               {"index", orNull(gpu.gres.index)},
                               {"shared", gpu.gres.isShared},
                               {"shards", orNull(gpu.gres.shards)}});
        all.push_back({{"id", job.environment()},
                       {"uid", job.uid},
                       {"user", job.user},
                       {"name", optionalText(job.name)},
                       {"created", toJson(sinceOf(job))},
                       {"lingering", false},
                       {"pids", Json::array()},
                       {"kernels", Json::array()},
                       {"nodes", job.nodes},
                       {"devices", std::move(devices)}});
    }
    return all;
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

Json queueJson(const Jobs& jobs) {
    Json all = Json::array();
    for (const ClusterJob& job : waitingJobs(jobs))
        all.push_back({{"position", all.size() + 1},
                       {"ticket", job.id},
                       {"environment", job.environment()},
                       {"uid", job.uid},
                       {"user", job.user},
                       {"name", optionalText(job.name)},
                       {"gpus", job.wanted.gpus},
                       {"shards", job.wanted.shards},
                       {"since", toJson(job.submitted)},
                       {"starts", job.begins ? toJson(*job.begins) : Json(nullptr)},
                       {"reason", optionalText(job.reason)}});
    return all;
}

} // namespace genv::ctl::cluster
