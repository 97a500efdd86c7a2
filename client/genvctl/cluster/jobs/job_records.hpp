// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's jobs in genv's terms, and how "squeue --json" describes them. Slurm has a record for each
// task of an array that has started, and one for all that wait.
#pragma once

#include "client/jobs/link/reported_jobs.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl::cluster {

inline constexpr std::uint64_t microsecondsPerSecond = 1'000'000;

/// A task of a job. All times are in µs since the epoch, 0 = unknown or none.
struct SlurmTask {
    jobs::JobNumber id = 0; ///< Slurm's own number of the task
    std::string state;      ///< genv's word, as in jobs::TaskRow
    std::string reason;
    std::vector<std::string> devices; ///< "n1:0": Slurm has no UUIDs
    std::string node;                 ///< the first one; may be empty
    std::string output;               ///< pattern; empty for Slurm's default
    std::uint64_t expected = 0;
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
    std::int32_t status = -1; ///< as of jobs::TaskRow
    std::int32_t signal = 0;
    std::uint32_t restarts = 0;

    [[nodiscard]] bool isWaiting() const { return state == "waiting" || state == "held"; }
    [[nodiscard]] bool hasEnded() const { return !isWaiting() && state != "running"; }
};

/// A job: its tasks by number, and their common fields. A job without an array has task 0.
struct SlurmJobRecord {
    jobs::JobNumber number = 0;
    bool isArray = false;
    std::uint32_t uid = 0;
    std::string user;
    std::string name;
    std::string command; ///< the path of a script; usually empty
    std::string folder;
    std::uint32_t gpus = 0;
    std::uint64_t submitted = 0;
    std::uint64_t begin = 0;
    std::uint32_t parallel = 0;
    std::uint32_t cpus = 0;
    std::uint64_t memoryBytes = 0;
    std::optional<std::uint64_t> lifetimeSeconds;
    std::vector<jobs::Dependency> after;
    std::map<std::uint32_t, SlurmTask> tasks;
    /// What became of tasks that are not among these: once an array is canceled, Slurm no longer
    /// says which of its tasks never started.
    std::optional<SlurmTask> rest;
};

using SlurmJobs = std::map<jobs::JobNumber, SlurmJobRecord>;

/// Returns the command whose output readSlurmJobs() reads: all jobs that slurmctld remembers.
std::vector<std::string> rememberedJobsCommand();

/// Reads the jobs of all users. Throws UnknownShape and SlurmComplaint.
SlurmJobs readSlurmJobs(std::string_view squeue);

/// Parses a dependency such as "afterok:17(unfulfilled),afterany:18_*". Other kinds of dependencies
/// are left out.
std::vector<jobs::Dependency> readDependencies(std::string_view text);

} // namespace genv::ctl::cluster
