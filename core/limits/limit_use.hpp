// SPDX-License-Identifier: LGPL-2.1-or-later
// How much of their limits a user has used. GetLimits returns it and `genvctl limits` shows it.
#pragma once

#include "core/devices/idleness.hpp"
#include "core/ledger/holdings.hpp"
#include "core/ports/observer.hpp"
#include "core/settings/limit_definitions.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace genv::core {

class LedgerView;

/// The sources from which GetLimits counts the use of limits.
struct LimitUseSources {
    const LedgerView& ledger;
    Uid user = 0;
    const Observation* last = nullptr; ///< the last observation; null before the first one
    const Idleness& idleness;
    BootTime now;
};

/// One limit of a user. Memory is in bytes, times are in seconds.
struct LimitUse {
    std::string_view name; ///< the name in genvd.conf
    std::optional<std::uint64_t> allowed;
    std::uint64_t used = 0;
};

/// Counts holdings without the loans that do not count.
std::uint64_t countOf(CountHeld what, const Holdings& holdings, std::uint32_t freeLoans);

/// Returns every limit, used or not, in the order of genvd.conf.
std::vector<LimitUse> limitUses(const Limits& limits, const LimitUseSources& from);

} // namespace genv::core
