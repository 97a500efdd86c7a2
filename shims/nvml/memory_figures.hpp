// SPDX-License-Identifier: LGPL-2.1-or-later
// The memory of an environment on a device, and the amount that is free. No number is invented:
// * The total is the environment's capacity: its share, or the whole device.
// * Used is the memory that its processes use. If the driver does not report that for one of them,
//   a whole device keeps the driver's numbers, and a share has no numbers at all (NotSupported).
// * Free is the rest of the capacity, but at most the driver's free memory. An allocation of this
//   size succeeds unless another process is faster. Used and free add up to less than the total if
//   the driver reserves memory or other users' processes are on the device. The second version of
//   NVML's structure reports the difference as reserved, so that its parts add up to the total.
#pragma once

#include "shims/nvml/visible.hpp"

#include <cstdint>
#include <optional>

namespace genv::shims {

/// Amounts in bytes.
struct MemoryFigures {
    std::uint64_t total = 0;
    std::uint64_t free = 0;
    std::uint64_t used = 0;

    friend bool operator==(const MemoryFigures&, const MemoryFigures&) = default;
};

/// Returns the memory of a visible scope from the environment's point of view, given the driver's
/// numbers. Returns nothing if it is unknown.
std::optional<MemoryFigures> ownMemory(const Scope& scope, const MemoryFigures& driver);

/// Returns the memory that is in neither `free` nor `used`.
std::uint64_t remainder(const MemoryFigures& memory);

} // namespace genv::shims
