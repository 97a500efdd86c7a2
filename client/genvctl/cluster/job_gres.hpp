// SPDX-License-Identifier: LGPL-2.1-or-later
// The GPUs in a job's record of "squeue --json".
#pragma once

#include "client/genvctl/cluster/cluster_rows.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace genv::ctl::cluster {

/// Returns the GPUs that the job holds on these nodes, in Slurm's list format.
std::vector<JobGpu> gpusOf(const nlohmann::json& record, const std::string& nodes);

/// Returns what the job asks for on all its nodes together.
WantedGres wantedBy(const nlohmann::json& record);

} // namespace genv::ctl::cluster
