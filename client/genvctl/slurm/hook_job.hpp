// SPDX-License-Identifier: LGPL-2.1-or-later
// A Slurm job, described by the variables that slurmd sets for its prolog and epilog.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// The reason why a job cannot become an environment, as a sentence for the log. It may contain
/// foreign text, which is made safe when it is printed.
class SlurmJobError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct HookJob {
    std::uint32_t id = 0;
    std::uint32_t uid = 0;
    std::vector<std::uint32_t> gpus;  ///< Slurm's numbers on this node
    std::optional<std::uint64_t> end; ///< in seconds since the epoch, if Slurm reports it
    std::optional<std::string> sluid; ///< if Slurm reports it
};

/// Returns the id of a job's environment.
std::string slurmEnvironment(std::uint32_t job);

/// Returns the value of an environment variable, or null if it is not set.
using SlurmVariables = std::function<const char*(const char* name)>;

/// Returns the number of the job described by the variables. Throws SlurmJobError.
std::uint32_t readSlurmJobId(const SlurmVariables& variables);

/// Returns the job described by the variables, or nothing for a job without GPUs. Throws
/// SlurmJobError.
std::optional<HookJob> readSlurmJob(const SlurmVariables& variables);

/// Parses a list of numbers such as "0,2-3". Throws SlurmJobError.
std::vector<std::uint32_t> parseGpuNumbers(std::string_view list);

/// Reads the map from Slurm's device numbers to devices from the service's file. Throws
/// SlurmJobError.
std::map<std::uint32_t, std::string> readSlurmDevices(const std::filesystem::path& file);

/// Returns the UUIDs of a job's devices. Throws SlurmJobError if one of them is unknown.
std::vector<std::string> uuidsOf(const HookJob& job,
                                 const std::map<std::uint32_t, std::string>& devices);

} // namespace genv::ctl
