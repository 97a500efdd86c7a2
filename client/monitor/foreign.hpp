// SPDX-License-Identifier: LGPL-2.1-or-later
// What another machine says of itself is foreign: of each only so much becomes series, each series
// is there once, and text is safe to print and not long, whatever its service or programs answer.
#pragma once

#include "client/monitor/sample.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace genv::monitor {

inline constexpr std::size_t mostDevices = 512;
inline constexpr std::size_t mostEnvironments = 2048;
inline constexpr std::size_t mostProcesses = 4096;
inline constexpr std::size_t mostUses = 8192; ///< of devices by processes, over all of these
inline constexpr std::size_t longestLabel = 256;

/// Text that can be a label: without what is not printable, at most that long.
std::string toLabel(std::string_view text);

/// Makes it so, and returns how many devices, environments and processes were left out.
std::uint64_t confine(ServiceState& state);

} // namespace genv::monitor
