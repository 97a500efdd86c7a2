// SPDX-License-Identifier: LGPL-2.1-or-later
// A Slurm job on this node, as far as genv is concerned: an environment without a root process,
// which is Slurm's to change and to end.
#pragma once

#include "core/ports/slurm.hpp"
#include "core/time.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace genv::core {

/// What makes an environment a job's.
struct SlurmJob {
    SlurmJobId id = 0;
    std::optional<WallTime> ends; ///< when Slurm ends it: shown, and not enforced
    /// No prolog said which devices it has: they are those that its processes were seen on.
    bool isInferred = false;

    friend bool operator==(const SlurmJob&, const SlurmJob&) = default;
};

/// The id of a job's environment: "slurm-" and its number.
std::string environmentIdOf(SlurmJobId job);

/// Whether an id is one that only jobs' environments have: whether it begins with "slurm-".
bool isJobEnvironmentId(std::string_view id);

/// Reads a job's number as Slurm writes it, in decimal without leading zeros; nothing for any other
/// text.
std::optional<SlurmJobId> parseSlurmJobId(std::string_view text);

} // namespace genv::core
