// SPDX-License-Identifier: LGPL-2.1-or-later
// A Slurm job on this node, as genv represents it: an environment without a root process, which
// only Slurm changes and ends.
#pragma once

#include "core/base/time.hpp"
#include "core/ports/slurm.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace genv::core {

/// The data that marks an environment as a job's.
struct SlurmJob {
    SlurmJobId id = 0;
    std::optional<Sluid> sluid;   ///< unset: this Slurm has none, or genv has not learned it yet
    std::optional<WallTime> ends; ///< when Slurm ends it: displayed, not enforced
    /// No prolog reported its devices: they are those on which its processes were seen.
    bool isInferred = false;

    friend bool operator==(const SlurmJob&, const SlurmJob&) = default;
};

/// Returns whether a job has this name.
bool isNamed(const SlurmJob& job, const SlurmJobName& name);

/// Returns whether a SLUID is that of another run of a job, as after a requeue. A SLUID that is not
/// known does not tell.
bool isOtherRun(const SlurmJob& job, const std::optional<Sluid>& sluid);

/// Returns the id of a job's environment: "slurm-" and its number.
std::string environmentIdOf(SlurmJobId job);

/// Returns whether an id is reserved for jobs' environments: whether it begins with "slurm-".
bool isJobEnvironmentId(std::string_view id);

/// Parses the number of a job as Slurm writes it, in decimal without leading zeros. Returns nothing
/// for any other text.
std::optional<SlurmJobId> parseSlurmJobId(std::string_view text);

} // namespace genv::core
