// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/partitions.hpp"

#include "client/genvctl/cluster/gres.hpp"
#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace genv::ctl::cluster {

namespace {

// PARTITION*|GRES|FEATURES
using SinfoFields = std::array<std::string_view, 3>;

std::optional<SinfoFields> fieldsOf(std::string_view line) {
    SinfoFields fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::size_t end = std::min(line.find('|'), line.size());
        if (end == line.size() && i + 1 < fields.size())
            return std::nullopt;
        fields[i] = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return fields;
}

Partition& partitionNamed(std::vector<Partition>& all, const std::string& name) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Partition& one) { return one.name == name; });
    if (found != all.end())
        return *found;
    all.push_back({});
    all.back().name = name;
    return all.back();
}

void addNodes(Partition& partition, const NodeGres& gres, std::string_view features) {
    const auto count = static_cast<std::uint32_t>(gres.models.size());
    if (count == 0)
        return;
    partition.maxGpus = std::max(partition.maxGpus, count);
    partition.shardsPerGpu = std::max(partition.shardsPerGpu, gres.shards / count);
    partition.types.insert(gres.models.begin(), gres.models.end());
    partition.types.erase("");
    if (features == "(null)")
        return;
    for (const std::string_view feature : splitGres(features))
        partition.features.emplace(feature);
}

std::string namesOf(const std::vector<Partition>& all, bool withGpus) {
    std::vector<std::string> names;
    for (const Partition& partition : all) {
        if (!withGpus || partition.maxGpus > 0)
            names.push_back(partition.name);
    }
    return names.empty() ? "none" : joined(names, ", ");
}

void merge(Partition& whole, const Partition& part) {
    whole.types.insert(part.types.begin(), part.types.end());
    whole.features.insert(part.features.begin(), part.features.end());
    whole.maxGpus = std::max(whole.maxGpus, part.maxGpus);
    whole.shardsPerGpu = std::max(whole.shardsPerGpu, part.shardsPerGpu);
}

} // namespace

std::vector<std::string> partitionsCommand() {
    return {"sinfo", "--noheader", "--format=%P|%G|%f"};
}

std::vector<Partition> readPartitions(std::string_view text) {
    std::vector<Partition> all;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const auto fields = fieldsOf(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!fields)
            continue;
        std::string_view name = fields->at(0);
        const bool isDefault = name.ends_with('*');
        if (isDefault)
            name.remove_suffix(1);
        Partition& partition = partitionNamed(all, std::string(name));
        partition.isDefault = isDefault;
        addNodes(partition, readNodeGres(fields->at(1)), fields->at(2));
    }
    return all;
}

Partition chosenPartition(const std::vector<Partition>& all,
                          const std::optional<std::string>& names) {
    Partition chosen;
    const std::string wanted = "," + names.value_or("") + ",";
    for (const Partition& partition : all) {
        const bool isMeant = names ? wanted.find("," + partition.name + ",") != std::string::npos
                                   : partition.isDefault;
        if (!isMeant)
            continue;
        chosen.name += (chosen.name.empty() ? "" : ",") + partition.name;
        merge(chosen, partition);
    }
    if (chosen.name.empty() && names)
        throw Failure(ExitStatus::Usage,
                      fmt::format("SLURM_PARTITION: unknown partition \"{}\"", *names),
                      fmt::format("Partitions of this cluster: {}", namesOf(all, false)));
    if (chosen.name.empty())
        throw Failure(ExitStatus::Usage, "this cluster has no default partition",
                      fmt::format("Choose one by the variable SLURM_PARTITION; with GPUs: {}",
                                  namesOf(all, true)));
    if (chosen.maxGpus == 0)
        throw Failure(ExitStatus::NoDevice,
                      fmt::format("the partition {} has no GPUs", chosen.name),
                      fmt::format("Choose another by the variable SLURM_PARTITION; with GPUs: {}",
                                  namesOf(all, true)));
    return chosen;
}

} // namespace genv::ctl::cluster
