// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's identifier of one run of a job, from Slurm 26.05: unique among all clusters and never
// reused. Such a Slurm names the control group of a job by it, in place of the job's number. A
// requeued job keeps its number and gets another SLUID.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace genv::core {

struct Sluid {
    std::uint64_t value = 0; ///< never 0

    friend auto operator<=>(const Sluid&, const Sluid&) = default;
};

/// Parses a SLUID exactly as Slurm writes it: "s" and the 64 bits as 13 digits of Crockford's
/// base 32, in upper case (0-9 and A-Z without I, L, O and U). Returns nothing for any other text.
std::optional<Sluid> parseSluid(std::string_view text);

/// Returns a SLUID as Slurm writes it.
std::string toString(Sluid sluid);

} // namespace genv::core
