// SPDX-License-Identifier: LGPL-2.1-or-later
// Time spans as people write them, in the spelling of systemd.time(7).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace genv::core {

/// Reads a time span: whole numbers with units (ms, s, min, h, d, w and systemd's longer names),
/// added up, such as "90", "10s" or "1h 30min"; a number without a unit is seconds. Throws
/// Error(InvalidArgs) for anything else and for more than 100 years.
std::chrono::milliseconds parseDuration(std::string_view text);

/// Writes a time span in its two largest units, rounded down: "1h 30min", "2d", "45s", "0s".
std::string formatDuration(std::chrono::milliseconds span);

} // namespace genv::core
