// SPDX-License-Identifier: LGPL-2.1-or-later
// The nodes and jobs of a cluster, whichever version of Slurm told of them.
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
    std::string trouble; ///< why it takes no jobs, such as "drained"; empty: it takes some
};

/// A GPU that a job has, or a part of one.
struct JobGpu {
    std::string node;
    HeldGres gres;
};

enum class JobState {
    Waiting, ///< in the queue
    Holding, ///< has its GPUs: it runs, is suspended or is ending
    Over,
};

struct ClusterJob {
    std::uint64_t id = 0;
    std::string name;
    std::uint32_t uid = 0;
    std::string user;
    JobState state = JobState::Over;
    std::string nodes; ///< as Slurm lists them
    std::string batchHost;
    std::vector<JobGpu> gpus;
    WantedGres wanted; ///< on all its nodes together
    std::uint64_t priority = 0;
    std::string reason; ///< why it waits
    Time submitted;
    std::optional<Time> begins; ///< of one that waits: when Slurm expects to start it

    /// The id of its environment on its nodes.
    [[nodiscard]] std::string environment() const { return "slurm-" + std::to_string(id); }
};

} // namespace genv::ctl::cluster
