// SPDX-License-Identifier: LGPL-2.1-or-later
// The GPUs that the nodes of each partition offer to jobs, from the output of sinfo. Its text is
// used because its JSON does not contain the default partition.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

struct Partition {
    std::string name;
    bool isDefault = false;
    std::set<std::string> types;    ///< of GPUs, as in gres.conf
    std::set<std::string> features; ///< of nodes with GPUs
    std::uint32_t maxGpus = 0;      ///< of the node with the most GPUs
    std::uint32_t shardsPerGpu = 0; ///< of the node with the most shards; 0 if no node has shards
};

/// Returns the command whose output readPartitions() parses.
std::vector<std::string> partitionsCommand();

/// Parses that output, which has a line for each kind of node in each partition.
std::vector<Partition> readPartitions(std::string_view text);

/// Returns the partition in which a job would run: the partitions in the comma-separated `names`,
/// merged into one, or the default partition. Throws Failure if there is none, or none with GPUs.
Partition chosenPartition(const std::vector<Partition>& all,
                          const std::optional<std::string>& names);

} // namespace genv::ctl::cluster
