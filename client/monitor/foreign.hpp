// SPDX-License-Identifier: LGPL-2.1-or-later
// Data from another machine is untrusted. The number of series is limited, each series is exported
// once, and text is short and safe to print, whatever the service or the programs of that machine
// send.
#pragma once

#include "client/monitor/sample.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace genv::monitor {

inline constexpr std::size_t maxDevices = 512;
inline constexpr std::size_t maxEnvironments = 2048;
inline constexpr std::size_t maxProcesses = 4096;
inline constexpr std::size_t maxUses = 8192; ///< of devices, by all these processes
inline constexpr std::size_t maxLabelLength = 256;

/// Converts a text to a label: removes unprintable characters and limits the length.
std::string toLabel(std::string_view text);

/// Applies these limits to a state. Returns the number of omitted devices, environments and
/// processes.
std::uint64_t confine(ServiceState& state);

} // namespace genv::monitor
