// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/cluster_objects.hpp"

#include "client/genvctl/cluster/questions.hpp"
#include "client/genvctl/objects/device.hpp"
#include "client/genvctl/objects/environment.hpp"
#include "client/genvctl/objects/schema.hpp"
#include "client/genvctl/objects/wait.hpp"

#include <map>

namespace genv::ctl::cluster {

namespace {

Json attachmentObject(const ClusterJob& job, const JobGpu& gpu) {
    return object<schema::attachment>({{"environment", job.environment()},
                                       {"name", orNull(job.name)},
                                       {"uid", job.uid},
                                       {"user", job.user},
                                       {"host", gpu.node},
                                       {"device", orNull(gpu.gres.index)},
                                       {"shared", gpu.gres.isShared},
                                       {"shards", orNull(gpu.gres.shards)},
                                       {"since", toJson(sinceOf(job))}});
}

Json deviceObject(const ClusterDevice& device) {
    const std::string& trouble = device.node->trouble;
    Json attachments = Json::array();
    for (const auto& [job, gpu] : device.holders)
        attachments.push_back(attachmentObject(*job, *gpu));
    return object<schema::device>({{"host", device.node->name},
                                   {"index", orNull(device.index)},
                                   {"model", orNull(device.model())},
                                   {"health", trouble.empty() ? "ok" : trouble},
                                   {"free", trouble.empty() && device.holders.empty()},
                                   {"attachments", std::move(attachments)}});
}

} // namespace

std::string ClusterDevice::model() const {
    const auto& models = node->gres.models;
    return index && *index < models.size() ? models[*index] : std::string();
}

std::vector<ClusterDevice> clusterDevices(const Nodes& nodes, const Jobs& jobs) {
    using Place = std::pair<std::string, std::optional<std::uint32_t>>; // a node and an index
    std::map<Place, decltype(ClusterDevice::holders)> held;
    for (const ClusterJob& job : jobs) {
        for (const JobGpu& gpu : job.gpus)
            held[{gpu.node, gpu.gres.index}].emplace_back(&job, &gpu);
    }
    std::vector<ClusterDevice> all;
    const auto add = [&](const ClusterNode& node, std::optional<std::uint32_t> index) {
        all.push_back({&node, index, held[{node.name, index}]});
    };
    for (const ClusterNode& node : nodes) {
        for (std::uint32_t i = 0; i < node.gres.models.size(); ++i)
            add(node, i);
        if (held.contains({node.name, std::nullopt}))
            add(node, std::nullopt);
    }
    return all;
}

bool hasGpus(const ClusterJob& job) {
    return job.state == ClusterJobState::Holding && !job.gpus.empty();
}

Time sinceOf(const ClusterJob& job) {
    return job.begins.value_or(job.submitted);
}

Json devicesJson(const Nodes& nodes, const Jobs& jobs) {
    Json all = Json::array();
    for (const ClusterDevice& device : clusterDevices(nodes, jobs))
        all.push_back(deviceObject(device));
    return all;
}

Json jobsJson(const Jobs& jobs) {
    Json all = Json::array();
    for (const ClusterJob& job : jobs) {
        if (!hasGpus(job))
            continue;
        Json attachments = Json::array();
        for (const JobGpu& gpu : job.gpus)
            attachments.push_back(attachmentObject(job, gpu));
        all.push_back(object<schema::environment>({{"id", job.environment()},
                                                   {"host", orNull(job.nodes)},
                                                   {"uid", job.uid},
                                                   {"user", job.user},
                                                   {"name", orNull(job.name)},
                                                   {"job", job.id},
                                                   {"created", toJson(sinceOf(job))},
                                                   {"attachments", std::move(attachments)}}));
    }
    return all;
}

Json queueJson(const Jobs& jobs) {
    Json all = Json::array();
    for (const ClusterJob& job : waitingJobs(jobs))
        all.push_back(object<schema::wait>({{"position", all.size() + 1},
                                            {"ticket", job.id},
                                            {"environment", job.environment()},
                                            {"name", orNull(job.name)},
                                            {"uid", job.uid},
                                            {"user", job.user},
                                            {"gpus", job.wanted.gpus},
                                            {"shards", job.wanted.shards},
                                            {"since", toJson(job.submitted)},
                                            {"expected_start", orNull(job.begins)},
                                            {"reason", orNull(job.reason)}}));
    return all;
}

} // namespace genv::ctl::cluster
