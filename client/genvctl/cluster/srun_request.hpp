// SPDX-License-Identifier: LGPL-2.1-or-later
// Translates a request in genv's terms to the command line of srun.
#pragma once

#include "client/genvctl/cluster/cluster_configuration.hpp"
#include "client/genvctl/cluster/partitions.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

/// A request in genv's terms.
struct JobRequest {
    std::uint32_t gpus = 0;
    std::optional<std::string> model;
    std::optional<std::uint64_t> memoryBytes; ///< of each GPU; unset for whole GPUs
    std::optional<std::chrono::seconds> lifetime;
    std::optional<std::string> name;
    bool waits = false;                          ///< in the queue, until GPUs are free
    std::optional<std::chrono::seconds> maxWait; ///< the timeout of the wait
    bool hasTerminal = false;                    ///< whether the command is interactive
    std::vector<std::string> command;
};

/// Returns the words of srun's command line. `partition` is the partition of the job and may be
/// unset if the job needs no GPUs. Throws Failure for a request that the partition cannot satisfy.
std::vector<std::string> srunWords(const JobRequest& request,
                                   const std::optional<Partition>& partition,
                                   const ClientConfiguration& configuration);

/// Adds the options for the GPUs of a request, of srun and sbatch, and checks that the partition
/// has them. Throws Failure.
void addDevices(std::vector<std::string>& words, const JobRequest& request,
                const Partition& partition, const ClientConfiguration& configuration);

/// Returns a time limit in srun's format: "1-02:00:00".
std::string slurmTime(std::chrono::seconds time);

} // namespace genv::ctl::cluster
