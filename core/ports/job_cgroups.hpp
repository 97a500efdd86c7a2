// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the control groups of Slurm's jobs. They are read off the loop and answered later.
#pragma once

#include "core/ports/slurm.hpp"

#include <functional>
#include <set>

namespace genv::core {

/// The control groups of jobs on this node.
struct JobCgroupList {
    bool isRead = true;    ///< false: they could not be read, which says nothing of any job
    bool hasSlurm = false; ///< Slurm keeps jobs in control groups on this machine
    std::set<SlurmJobId> jobs;
};

class JobCgroups {
  public:
    virtual ~JobCgroups() = default;

    /// Always answers, on the loop and never before this returns.
    virtual void list(std::function<void(const JobCgroupList&)> answer) = 0;
};

} // namespace genv::core
