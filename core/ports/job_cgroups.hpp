// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the cgroups of Slurm's jobs. They are read on a worker thread, and the reply comes later.
#pragma once

#include "core/ports/slurm.hpp"

#include <functional>
#include <set>

namespace genv::core {

/// The cgroups of jobs on this node.
struct JobCgroupList {
    bool isRead = true;    ///< false: they could not be read, so the state of each job is unknown
    bool hasSlurm = false; ///< Slurm puts jobs into cgroups on this machine
    std::set<SlurmJobName> jobs;
};

class JobCgroups {
  public:
    virtual ~JobCgroups() = default;

    /// Lists the cgroups. `answer` is always called, on the loop and never before this returns.
    virtual void list(std::function<void(const JobCgroupList&)> answer) = 0;
};

} // namespace genv::core
