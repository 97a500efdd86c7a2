// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/job_gres.hpp"

#include "client/genvctl/cluster/hostlist.hpp"
#include "client/genvctl/cluster/json_fields.hpp"

#include <algorithm>
#include <array>

namespace genv::ctl::cluster {

using nlohmann::json;
using namespace fields;

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

} // namespace genv::ctl::cluster
