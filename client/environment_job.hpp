// SPDX-License-Identifier: LGPL-2.1-or-later
// The Slurm job of an environment, from its id: only jobs have ids of the form "slurm-JOBID". Also
// the job of this process.
#pragma once

#include "core/model/slurm_cgroup.hpp"
#include "core/model/slurm_job.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace genv::client {

/// Returns the job number as text, or nothing if the environment does not belong to a job.
inline std::optional<std::string> slurmJobOf(std::string_view environmentId) {
    constexpr std::string_view prefix = "slurm-";
    if (!core::isJobEnvironmentId(environmentId))
        return std::nullopt;
    const auto job = core::parseSlurmJobId(environmentId.substr(prefix.size()));
    return job ? std::optional(std::to_string(*job)) : std::nullopt;
}

/// Returns the job in whose control group this process is, by its number, or by its SLUID from
/// Slurm 26.05. Returns nothing if the process is in none.
inline std::optional<std::string> jobOfThisProcess() {
    std::ifstream file("/proc/self/cgroup");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto cgroup = core::parseSlurmCgroup(text);
    if (!cgroup)
        return std::nullopt;
    const auto* number = std::get_if<core::SlurmJobId>(&cgroup->job);
    return number != nullptr ? std::to_string(*number)
                             : core::toString(std::get<core::Sluid>(cgroup->job));
}

} // namespace genv::client
