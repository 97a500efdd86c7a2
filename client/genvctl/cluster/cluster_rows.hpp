// SPDX-License-Identifier: LGPL-2.1-or-later
// The nodes and jobs of a cluster, independent of the version of Slurm.
#pragma once

#include "client/genvctl/cluster/gres.hpp"
#include "genv/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

struct ClusterNode {
    std::string name;
    NodeGres gres;
    std::string trouble; ///< why it accepts no jobs, such as "drained"; empty if it does
};

/// A GPU, or a part of one, that a job holds.
struct JobGpu {
    std::string node;
    HeldGres gres;
};

enum class ClusterJobState {
    Waiting, ///< in the queue
    Holding, ///< holds its GPUs: it is running, suspended or completing
    Over,
};

struct ClusterJob {
    std::uint64_t id = 0;
    std::string name;
    std::uint32_t uid = 0;
    std::string user;
    ClusterJobState state = ClusterJobState::Over;
    std::string nodes; ///< in Slurm's list format
    std::string batchHost;
    std::vector<JobGpu> gpus;
    WantedGres wanted; ///< on all its nodes together
    std::uint64_t priority = 0;
    std::string reason; ///< why it is pending
    Time submitted;
    std::optional<Time> begins; ///< for a pending job: the start time that Slurm expects

    /// Returns the id of its environment on its nodes.
    [[nodiscard]] std::string environment() const { return "slurm-" + std::to_string(id); }
};

} // namespace genv::ctl::cluster
