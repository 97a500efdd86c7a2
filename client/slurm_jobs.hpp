// SPDX-License-Identifier: LGPL-2.1-or-later
// The Slurm job that an environment is, by its id: "slurm-JOBID" is an id that only jobs have. And
// the job that this process is in.
#pragma once

#include "core/slurm_cgroup.hpp"
#include "core/slurm_job.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace genv::client {

/// The job's number as text; nothing where the environment is no job's.
inline std::optional<std::string> slurmJobOf(std::string_view environmentId) {
    constexpr std::string_view prefix = "slurm-";
    if (!core::isJobEnvironmentId(environmentId))
        return std::nullopt;
    const auto job = core::parseSlurmJobId(environmentId.substr(prefix.size()));
    return job ? std::optional(std::to_string(*job)) : std::nullopt;
}

/// The id that the environment has of the job in whose control group this process is; nothing where
/// it is in none.
inline std::optional<std::string> jobEnvironmentOfThisProcess() {
    std::ifstream file("/proc/self/cgroup");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto cgroup = core::parseSlurmCgroup(text);
    return cgroup ? std::optional(core::environmentIdOf(cgroup->job)) : std::nullopt;
}

} // namespace genv::client
