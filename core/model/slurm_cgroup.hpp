// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the Slurm job of a process by its cgroup. Slurm puts every process of a job below a cgroup
// of the job, including processes that cleared their variables, and SSH sessions that Slurm
// adopted.
#pragma once

#include "core/base/process.hpp"
#include "core/ports/slurm.hpp"

#include <optional>
#include <string_view>

namespace genv::core {

/// The job of a cgroup.
struct SlurmCgroup {
    SlurmJobName job;
    std::optional<Uid> owner; ///< the owner of the job, if the path contains it

    friend bool operator==(const SlurmCgroup&, const SlurmCgroup&) = default;
};

/// Parses proc_pid_cgroup(5). The cgroup of a job is /system.slice/[NODE_]slurmstepd.scope/job_N in
/// version 2, with the SLUID in place of job_N from Slurm 26.05 (unless CgroupJobIdPaths=yes), and
/// /slurm[_NODE]/uid_U/job_N in version 1 (freezer or devices), or any cgroup below it. The path
/// starts at the root of the hierarchy, where only root creates cgroups; users can create similar
/// paths in their own part of it. Returns nothing if two hierarchies name different jobs.
std::optional<SlurmCgroup> parseSlurmCgroup(std::string_view text);

} // namespace genv::core
