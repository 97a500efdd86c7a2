// SPDX-License-Identifier: LGPL-2.1-or-later
// Which Slurm job a process belongs to, by its control group. Slurm puts every process of a job
// below a group of the job's: those that cleared their variables, and those that came by SSH and
// were adopted.
#pragma once

#include "core/ports/slurm.hpp"
#include "core/process.hpp"

#include <optional>
#include <string_view>

namespace genv::core {

/// The job of a control group.
struct SlurmCgroup {
    SlurmJobId job = 0;
    std::optional<Uid> owner; ///< the job's, where the path names them

    friend bool operator==(const SlurmCgroup&, const SlurmCgroup&) = default;
};

/// Reads proc_pid_cgroup(5). A job's group is /system.slice/[NODE_]slurmstepd.scope/job_N in
/// version 2 and /slurm[_NODE]/uid_U/job_N in version 1 (freezer or devices), with or without more
/// below it. It begins at the root of the hierarchy, where only root makes groups; users can make
/// groups that look alike in their own part of it. Nothing where two hierarchies name two jobs.
std::optional<SlurmCgroup> parseSlurmCgroup(std::string_view text);

} // namespace genv::core
