// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/shapes.hpp"

#include "client/genvctl/cluster/hostlist.hpp"
#include "client/genvctl/cluster/json_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace genv::ctl::cluster {

namespace {

using nlohmann::json;

// Parses a number or {set, infinite, number}. Returns nothing for null, unset and infinite values.
std::optional<std::uint64_t> numberOf(const json& value) {
    if (value.is_number_unsigned())
        return value.get<std::uint64_t>();
    if (!value.is_object())
        return std::nullopt;
    const auto set = value.find("set");
    const auto number = value.find("number");
    if (set == value.end() || *set != true || number == value.end() || number->is_object())
        return std::nullopt;
    return numberOf(*number);
}

std::optional<std::uint64_t> numberIn(const json& record, const char* field) {
    const auto found = record.find(field);
    return found == record.end() ? std::nullopt : numberOf(*found);
}

std::string textIn(const json& record, const char* field) {
    const auto found = record.find(field);
    return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns a word or a list of words, in capitals.
std::set<std::string> wordsIn(const json& record, const char* field) {
    std::set<std::string> words;
    const auto add = [&](const json& value) {
        if (!value.is_string())
            return;
        std::string word = value.get<std::string>();
        std::transform(word.begin(), word.end(), word.begin(), [](char c) {
            return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        });
        words.insert(std::move(word));
    };
    const auto found = record.find(field);
    if (found == record.end())
        return words;
    if (found->is_array())
        std::for_each(found->begin(), found->end(), add);
    else
        add(*found);
    return words;
}

std::optional<Time> timeIn(const json& record, const char* field) {
    const auto seconds = numberIn(record, field);
    // 0 means none. No time of Slurm has more than 32 bits.
    if (!seconds || *seconds == 0 || *seconds > UINT32_MAX)
        return std::nullopt;
    return Time(std::chrono::seconds(*seconds));
}

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

void requireAnswer(const RecordsSummary& summary, const char* program, const char* lists) {
    const json& errors = summary.errors;
    if (errors.is_array() && !errors.empty()) {
        const std::string description = textIn(errors.front(), "description");
        const std::string error = textIn(errors.front(), "error");
        throw SlurmComplaint(description.empty() || error.empty()
                                 ? description + error
                                 : fmt::format("{}: {}", description, error));
    }
    if (summary.lists.empty())
        throw UnknownShape(fmt::format("{} --json printed no list {}", program, lists));
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

JobState stateOf(const std::set<std::string>& states) {
    constexpr std::array<const char*, 8> holding{"RUNNING",  "SUSPENDED",  "COMPLETING",
                                                 "RESIZING", "SIGNALING",  "STAGE_OUT",
                                                 "STOPPED",  "CONFIGURING"};
    if (states.contains("PENDING"))
        return JobState::Waiting;
    const bool holds = std::any_of(holding.begin(), holding.end(),
                                   [&](const char* state) { return states.contains(state); });
    return holds ? JobState::Holding : JobState::Over;
}

// Slurm lists the resources of a job on each of its nodes, in the order of the nodes.
std::vector<JobGpu> gpusOf(const json& record, const std::string& nodes) {
    std::vector<JobGpu> gpus;
    const auto details = record.find("gres_detail");
    if (details == record.end() || !details->is_array())
        return gpus;
    const std::vector<std::string> names = expandHosts(nodes);
    for (std::size_t i = 0; i < details->size() && i < names.size(); ++i) {
        const json& detail = (*details)[i];
        if (!detail.is_string())
            continue;
        for (const HeldGres& gres : readHeldGres(detail.get_ref<const std::string&>()))
            gpus.push_back({names[i], gres});
    }
    return gpus;
}

WantedGres wantedBy(const json& record) {
    const auto count = [&](const char* field) {
        return static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(numberIn(record, field).value_or(1), 1, UINT16_MAX));
    };
    const std::array<std::pair<const char*, std::uint32_t>, 4> parts{{
        {"tres_per_job", 1},
        {"tres_per_node", count("node_count")},
        {"tres_per_socket", count("node_count") * count("sockets_per_node")},
        {"tres_per_task", count("tasks")},
    }};
    WantedGres sum;
    for (const auto& [field, times] : parts) {
        const WantedGres one = readWantedGres(textIn(record, field));
        sum.gpus += one.gpus * times;
        sum.shards += one.shards * times;
    }
    return sum;
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
    if (job.state == JobState::Holding)
        job.gpus = gpusOf(record, job.nodes);
    job.wanted = wantedBy(record);
    job.priority = numberIn(record, "priority").value_or(0);
    job.reason = textIn(record, "state_reason");
    job.submitted = timeIn(record, "submit_time").value_or(Time{});
    job.begins = timeIn(record, "start_time");
    return job;
}

// Slurm prints the name of a job without validation, so it may contain any bytes.
std::string withoutForeignBytes(std::string_view text) {
    std::string ascii(text);
    std::replace_if(
        ascii.begin(), ascii.end(), [](char c) { return (c & 0x80) != 0; }, '?');
    return ascii;
}

/// How to convert the JSON of a program to rows.
template <typename Row>
struct RowReader {
    const char* program;
    const char* lists; ///< used in error messages
    RecordSelection selection;
    void (*add)(const std::string& list, const json& record, std::vector<Row>& rows);

    [[nodiscard]] std::vector<Row> read(std::string_view text) const {
        std::vector<Row> rows;
        const RecordsSummary summary =
            readRecords(text, selection, [&](const std::string& list, const json& record) {
                add(list, record, rows);
            });
        requireAnswer(summary, program, lists);
        return rows;
    }

    [[nodiscard]] std::vector<Row> readWhatever(std::string_view text) const {
        try {
            return read(text);
        } catch (const InvalidJson&) {
        }
        try {
            return read(withoutForeignBytes(text));
        } catch (const InvalidJson&) {
            throw UnknownShape(fmt::format("{} --json printed no JSON object", program));
        }
    }
};

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
