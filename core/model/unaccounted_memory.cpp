// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/unaccounted_memory.hpp"

#include <algorithm>
#include <tuple>

namespace genv::core {

Bytes unaccountedThreshold(Bytes total) {
    constexpr Bytes least{1U << 30U};
    constexpr std::uint64_t part = 50; // 2 %
    return std::max(least, Bytes{total.count / part});
}

bool UnaccountedMemory::observed(const DeviceSample& sample, BootTime began) {
    const auto before = std::tuple(amount_, rest_, free_);
    const Bytes found = sample.memory.unaccounted.value_or(Bytes{0});
    const bool isAbove = found > unaccountedThreshold(sample.facts.totalMemory);
    const bool isJustReleased = released_ && began < *released_ + releaseTime;
    if (!isAbove)
        amount_ = {};
    else if (amount_ > Bytes{0} || (isSuspected_ && !isJustReleased))
        amount_ = found;
    isSuspected_ = isAbove && !isJustReleased;
    free_ = amount_ > Bytes{0} ? sample.memory.free : std::nullopt;
    rest_ = std::nullopt;
    if (free_ && sample.reading.usedMemory)
        rest_ =
            *free_ + (*sample.reading.usedMemory - std::min(amount_, *sample.reading.usedMemory));
    return before != std::tuple(amount_, rest_, free_);
}

} // namespace genv::core
