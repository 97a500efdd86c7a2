// SPDX-License-Identifier: LGPL-2.1-or-later
// What a cluster offers to jobs, by the text that sinfo prints: which GPUs the nodes of each
// partition have. sinfo's JSON does not say which partition is the default one.
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
    std::uint32_t maxGpus = 0;      ///< of the node that has the most
    std::uint32_t shardsPerGpu = 0; ///< of the node that has the most; 0: it has no shards
};

/// The command whose output readPartitions() reads.
std::vector<std::string> partitionsCommand();

/// Reads that output, a line for each kind of node in each partition.
std::vector<Partition> readPartitions(std::string_view text);

/// The partition in which a job would run: those of `names`, separated by commas, as one, or the
/// default one. Throws Failure where there is none, or none with GPUs.
Partition chosenPartition(const std::vector<Partition>& all,
                          const std::optional<std::string>& names);

} // namespace genv::ctl::cluster
