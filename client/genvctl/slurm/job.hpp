// SPDX-License-Identifier: LGPL-2.1-or-later
// A Slurm job, as slurmd describes it to its prolog and epilog: by variables.
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

/// What keeps a job from becoming an environment, as a sentence for the log. It may hold foreign
/// text, which is made safe where it is printed.
class SlurmJobError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct SlurmJob {
    std::uint32_t id = 0;
    std::uint32_t uid = 0;
    std::vector<std::uint32_t> gpus;  ///< as Slurm counts them on this node
    std::optional<std::uint64_t> end; ///< in seconds since the epoch, where Slurm says it
};

/// The id of a job's environment.
std::string slurmEnvironment(std::uint32_t job);

/// Gives the value of an environment variable; null where it is not set.
using SlurmVariables = std::function<const char*(const char* name)>;

/// The number of the job that the variables describe. Throws SlurmJobError.
std::uint32_t readSlurmJobId(const SlurmVariables& variables);

/// The job that the variables describe; nothing for one without GPUs. Throws SlurmJobError.
std::optional<SlurmJob> readSlurmJob(const SlurmVariables& variables);

/// The numbers of a list such as "0,2-3". Throws SlurmJobError.
std::vector<std::uint32_t> parseGpuNumbers(std::string_view list);

/// Which device each of Slurm's numbers means, as the service's file says. Throws SlurmJobError.
std::map<std::uint32_t, std::string> readSlurmDevices(const std::filesystem::path& file);

/// The devices of a job, by UUID. Throws SlurmJobError unless all are known.
std::vector<std::string> uuidsOf(const SlurmJob& job,
                                 const std::map<std::uint32_t, std::string>& devices);

} // namespace genv::ctl
