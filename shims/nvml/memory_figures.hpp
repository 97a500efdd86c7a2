// SPDX-License-Identifier: LGPL-2.1-or-later
// How much memory an environment has on a device, and what is left of it. No number is made up:
// * The total is the environment's capacity: its share, or the whole device.
// * Used is what its processes use. Where the driver does not say that of one of them, a whole
//   device has the driver's numbers as they are, and a share none at all (NotSupported).
// * Free is what the capacity leaves, but never more than the driver has: an allocation of it works
//   unless somebody else is faster. Together with used it is less than the total where the driver
//   reserves memory or other people's processes are on the device; the second version of NVML's
//   answer has that as reserved, so that its parts make the whole.
#pragma once

#include "shims/nvml/visible.hpp"

#include <cstdint>
#include <optional>

namespace genv::shims {

/// In bytes.
struct MemoryFigures {
    std::uint64_t total = 0;
    std::uint64_t free = 0;
    std::uint64_t used = 0;

    friend bool operator==(const MemoryFigures&, const MemoryFigures&) = default;
};

/// What a visible scope's memory is to the environment, given what the driver says of it; nothing
/// where it is not known.
std::optional<MemoryFigures> ownMemory(const Scope& scope, const MemoryFigures& driver);

/// What is in neither `free` nor `used`.
std::uint64_t remainder(const MemoryFigures& memory);

} // namespace genv::shims
