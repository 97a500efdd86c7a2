// SPDX-License-Identifier: LGPL-2.1-or-later
// Translates a job in genv's terms to the command line of sbatch.
#pragma once

#include "client/genvctl/cluster/cluster_configuration.hpp"
#include "client/genvctl/cluster/partitions.hpp"
#include "client/genvctl/jobs/work.hpp"

#include <optional>
#include <string>
#include <vector>

namespace genv::ctl::cluster {

/// Returns the partition that the user's script names in a line "#SBATCH ...", if any.
std::optional<std::string> partitionOfScript(const Work& work);

/// Returns how many GPUs each task asks for. A script with lines "#SBATCH ..." gets what these ask
/// for, unless an option of genv asks for GPUs.
std::uint32_t gpusOf(const Work& work);

/// Returns the words of sbatch's command line, for a script on its standard input. `partition` is
/// the partition of the job and may be unset if the job needs no GPUs. Throws Failure for a job
/// that Slurm or the partition cannot have.
std::vector<std::string> sbatchWords(const Work& work, const std::optional<Partition>& partition,
                                     const ClientConfiguration& configuration);

} // namespace genv::ctl::cluster
