// SPDX-License-Identifier: LGPL-2.1-or-later
// The patterns in which Slurm names the output of jobs: "slurm-%A_%a.out".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace genv::ctl::cluster {

/// Returns the pattern for the value of --output, in which "{}" is the number of the task. Throws
/// Failure(Usage) for a path that no pattern means.
std::string outputPattern(const std::string& path, bool isArray);

/// What the symbols of a pattern stand for.
struct OutputNames {
    std::uint32_t id = 0;  ///< Slurm's number of the job or task
    std::uint32_t job = 0; ///< of the array, or the same
    std::optional<std::uint32_t> task;
    std::string user;
    std::string name;
    std::string node; ///< the first node; empty while it is not known
    std::string folder;
};

/// Returns the path of the output. An empty pattern is Slurm's default.
std::string outputPathOf(const std::string& pattern, const OutputNames& names);

} // namespace genv::ctl::cluster
