// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses the output of "sinfo --json" and "squeue --json", whose format changed with Slurm 23.02
// and 23.11. The format is detected from the content, not from the reported version:
//
// clang-format off
//               up to 22.05                  23.02                       from 23.11 on
//   nodes       "nodes", a record each       either                      "sinfo", one for alike ones
//   state       "mixed" and "state_flags"    ["MIXED", "DRAIN"]          the same
//   job_state   "RUNNING"                    "RUNNING"                   ["RUNNING"]
//   numbers     12, null                     {set, infinite, number}     the same
// clang-format on
#pragma once

#include "client/genvctl/cluster/cluster_rows.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

/// The output has none of the formats above. what() names the missing part.
class UnknownShape : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An error that Slurm reports in its JSON.
class SlurmComplaint : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Returns the nodes with GPUs, by name. Throws UnknownShape and SlurmComplaint.
std::vector<ClusterNode> readNodes(std::string_view sinfo);

/// Returns all jobs in Slurm's order. Throws UnknownShape and SlurmComplaint.
std::vector<ClusterJob> readJobs(std::string_view squeue);

} // namespace genv::ctl::cluster
