// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/shapes.hpp"

#include "client/genvctl/cluster/hostlist.hpp"
#include "client/genvctl/cluster/job_gres.hpp"
#include "client/genvctl/cluster/json_fields.hpp"
#include "client/genvctl/cluster/row_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace genv::ctl::cluster {

namespace {

using nlohmann::json;
using namespace fields;

std::string troubleOf(const std::set<std::string>& states) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> troubles{{
        {"DOWN", "down"},
        {"FAIL", "failing"},
        {"FAILING", "failing"},
        {"DRAIN", "drained"},
        {"NOT_RESPONDING", "not responding"},
        {"MAINTENANCE", "in maintenance"},
        {"FUTURE", "not there yet"},
        {"UNKNOWN", "in an unknown state"},
    }};
    for (const auto& [state, word] : troubles) {
        if (states.contains(std::string(state)))
            return std::string(word);
    }
    return "";
}

// The form up to 23.02.
void addNode(const json& record, std::vector<ClusterNode>& nodes) {
    const std::string name = textIn(record, "name");
    if (name.empty() || !record.contains("gres") || !record.contains("state"))
        throw UnknownShape("a node in the output of sinfo --json has no name, state or gres");
    std::set<std::string> states = wordsIn(record, "state");
    states.merge(wordsIn(record, "state_flags"));
    nodes.push_back({name, readNodeGres(textIn(record, "gres")), troubleOf(states)});
}

// The form since 23.11: equal nodes share one record.
void addNodes(const json& record, std::vector<ClusterNode>& nodes) {
    constexpr const char* unknown =
        "a record in the output of sinfo --json has no nodes.nodes, node.state or gres.total";
    const auto names = record.find("nodes");
    const auto state = record.find("node");
    const auto total = record.find("gres");
    if (names == record.end() || state == record.end() || total == record.end() ||
        !names->is_object() || !names->contains("nodes") || !names->at("nodes").is_array() ||
        !state->is_object() || !total->is_object() || !total->contains("total"))
        throw UnknownShape(unknown);
    const NodeGres gres = readNodeGres(textIn(*total, "total"));
    const std::string trouble = troubleOf(wordsIn(*state, "state"));
    for (const json& list : names->at("nodes")) {
        if (!list.is_string())
            throw UnknownShape(unknown);
        for (std::string& name : expandHosts(list.get<std::string>()))
            nodes.push_back({std::move(name), gres, trouble});
    }
}

ClusterJobState stateOf(const std::set<std::string>& states) {
    constexpr std::array<const char*, 8> holding{"RUNNING",  "SUSPENDED",  "COMPLETING",
                                                 "RESIZING", "SIGNALING",  "STAGE_OUT",
                                                 "STOPPED",  "CONFIGURING"};
    if (states.contains("PENDING"))
        return ClusterJobState::Waiting;
    const bool holds = std::any_of(holding.begin(), holding.end(),
                                   [&](const char* state) { return states.contains(state); });
    return holds ? ClusterJobState::Holding : ClusterJobState::Over;
}

ClusterJob readJob(const json& record) {
    const auto id = numberIn(record, "job_id");
    const std::set<std::string> states = wordsIn(record, "job_state");
    if (!id || states.empty())
        throw UnknownShape("a job in the output of squeue --json has no job_id or job_state");
    ClusterJob job;
    job.id = *id;
    job.name = textIn(record, "name");
    job.uid = static_cast<std::uint32_t>(numberIn(record, "user_id").value_or(0));
    job.user = textIn(record, "user_name");
    if (job.user.empty())
        job.user = std::to_string(job.uid);
    job.state = stateOf(states);
    job.nodes = textIn(record, "nodes");
    job.batchHost = textIn(record, "batch_host");
    if (job.state == ClusterJobState::Holding)
        job.gpus = gpusOf(record, job.nodes);
    job.wanted = wantedBy(record);
    job.priority = numberIn(record, "priority").value_or(0);
    job.reason = textIn(record, "state_reason");
    job.submitted = timeIn(record, "submit_time").value_or(Time{});
    job.begins = timeIn(record, "start_time");
    return job;
}

void addNodesOf(const std::string& list, const json& record, std::vector<ClusterNode>& nodes) {
    if (list == "nodes")
        addNode(record, nodes);
    else
        addNodes(record, nodes);
}

void addJob(const std::string& /*list*/, const json& record, std::vector<ClusterJob>& jobs) {
    jobs.push_back(readJob(record));
}

} // namespace

std::vector<ClusterNode> readNodes(std::string_view sinfo) {
    const RowReader<ClusterNode> reader{
        "sinfo",
        "\"sinfo\" or \"nodes\"",
        {{"nodes", "sinfo"}, {"name", "state", "state_flags", "gres", "node", "nodes"}},
        addNodesOf};
    std::vector<ClusterNode> nodes = reader.readWhatever(sinfo);
    std::erase_if(nodes, [](const ClusterNode& node) { return node.gres.models.empty(); });
    std::stable_sort(nodes.begin(), nodes.end(), [](const ClusterNode& a, const ClusterNode& b) {
        return comesBefore(a.name, b.name);
    });
    // sinfo lists a node once for each of its partitions.
    const auto isSame = [](const ClusterNode& a, const ClusterNode& b) { return a.name == b.name; };
    nodes.erase(std::unique(nodes.begin(), nodes.end(), isSame), nodes.end());
    return nodes;
}

std::vector<ClusterJob> readJobs(std::string_view squeue) {
    const RowReader<ClusterJob> reader{
        "squeue",
        "\"jobs\"",
        {{"jobs"},
         {"job_id", "job_state", "name", "user_id", "user_name", "nodes", "batch_host",
          "gres_detail", "node_count", "tasks", "sockets_per_node", "tres_per_job", "tres_per_node",
          "tres_per_socket", "tres_per_task", "priority", "state_reason", "submit_time",
          "start_time"}},
        addJob};
    return reader.readWhatever(squeue);
}

} // namespace genv::ctl::cluster
