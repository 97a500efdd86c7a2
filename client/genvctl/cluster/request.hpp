// SPDX-License-Identifier: LGPL-2.1-or-later
// From what a person asks of genvctl to the command line of srun.
#pragma once

#include "client/genvctl/cluster/configuration.hpp"
#include "client/genvctl/cluster/partitions.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

/// What is asked for, in genv's terms.
struct JobRequest {
    std::uint32_t gpus = 0;
    std::optional<std::string> model;
    std::optional<std::uint64_t> memoryBytes; ///< of each GPU; unset: whole GPUs
    std::optional<std::chrono::seconds> lifetime;
    std::optional<std::string> name;
    bool waits = false;                          ///< until GPUs are free
    std::optional<std::chrono::seconds> maxWait; ///< at most so long
    bool hasTerminal = false;                    ///< what runs is for a person
    std::vector<std::string> command;
};

/// The words of srun's command line. `partition` is where the job would run; it may be missing
/// where the job wants no GPUs. Throws Failure for what the partition cannot give.
std::vector<std::string> srunWords(const JobRequest& request,
                                   const std::optional<Partition>& partition,
                                   const ClientConfiguration& configuration);

/// A time limit as srun takes it: "1-02:00:00".
std::string slurmTime(std::chrono::seconds time);

} // namespace genv::ctl::cluster
