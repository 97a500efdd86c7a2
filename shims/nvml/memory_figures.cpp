// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvml/memory_figures.hpp"

#include <algorithm>

namespace genv::shims {

std::optional<MemoryFigures> ownMemory(const Scope& scope, const MemoryFigures& driver) {
    std::uint64_t capacity = 0;
    std::uint64_t used = 0;
    bool isWhole = !scope.isParent;
    bool isKnown = true;
    for (const VisibleDevice* device : scope.devices) {
        capacity += device->capacityBytes();
        isWhole = isWhole && !device->shareBytes;
        const std::optional<std::uint64_t> own = device->usedMemoryBytes();
        isKnown = isKnown && own;
        used += own.value_or(0);
    }
    if (!isKnown)
        return isWhole ? std::optional(driver) : std::nullopt;
    const std::uint64_t total = isWhole ? driver.total : std::min(capacity, driver.total);
    return MemoryFigures{total, std::min(total - std::min(used, total), driver.free), used};
}

std::uint64_t remainder(const MemoryFigures& memory) {
    const std::uint64_t known = memory.free + memory.used;
    return memory.total - std::min(known, memory.total);
}

} // namespace genv::shims
