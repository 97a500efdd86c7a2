// SPDX-License-Identifier: LGPL-2.1-or-later
// How much of their limits a user has used. GetLimits returns it and `genvctl limits` shows it.
#pragma once

#include "core/limit_definitions.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace genv::core {

/// One limit of a user. Memory is in bytes, times are in seconds.
struct LimitUse {
    std::string_view name; ///< the name in genvd.conf
    std::optional<std::uint64_t> allowed;
    std::uint64_t used = 0;
};

/// Returns every limit, used or not, in the order of genvd.conf.
std::vector<LimitUse> limitUses(const Limits& limits, const LimitUseSources& from);

} // namespace genv::core
