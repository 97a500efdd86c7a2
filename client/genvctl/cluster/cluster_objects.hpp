// SPDX-License-Identifier: LGPL-2.1-or-later
// The GPUs of a cluster with the jobs that hold them, and its GPUs, jobs and queue as JSON, for
// genvctl and genv-top.
#pragma once

#include "client/genvctl/cluster/cluster_rows.hpp"
#include "client/genvctl/terminal/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::ctl::cluster {

using Nodes = std::vector<ClusterNode>;
using Jobs = std::vector<ClusterJob>;

/// A GPU with its holders. The nodes and jobs that it is made of must outlive it.
struct ClusterDevice {
    const ClusterNode* node = nullptr;
    std::optional<std::uint32_t>
        index; ///< unset: Slurm does not report which GPU of the node it is
    std::vector<std::pair<const ClusterJob*, const JobGpu*>> holders;

    /// Returns the type of the GPU in Slurm, or an empty text.
    [[nodiscard]] std::string model() const;
};
std::vector<ClusterDevice> clusterDevices(const Nodes& nodes, const Jobs& jobs);

/// Returns whether the job holds GPUs.
bool hasGpus(const ClusterJob& job);
/// Returns when the job started, or when it was submitted.
Time sinceOf(const ClusterJob& job);

Json devicesJson(const Nodes& nodes, const Jobs& jobs);
Json jobsJson(const Jobs& jobs);
Json queueJson(const Jobs& jobs);

} // namespace genv::ctl::cluster
