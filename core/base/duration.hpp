// SPDX-License-Identifier: LGPL-2.1-or-later
// Time spans in the syntax of systemd.time(7).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace genv::core {

/// Parses a time span: the sum of whole numbers with units (ms, s, min, h, d, w and systemd's
/// longer names), such as "90", "10s" or "1h 30min". A number without a unit is in seconds. Throws
/// Error(InvalidArgs) for anything else and for more than 100 years.
std::chrono::milliseconds parseDuration(std::string_view text);

/// Parses a time span as people type it: as parseDuration(), but each number needs a unit, except
/// 0. A number alone is seconds in some places and minutes or hours in others, so it is refused.
std::chrono::milliseconds parseTypedDuration(std::string_view text);

/// Returns the whole seconds of a time span; 0 if it is negative.
constexpr std::uint64_t wholeSeconds(std::chrono::microseconds span) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
    return seconds > 0 ? static_cast<std::uint64_t>(seconds) : 0;
}

/// Formats a time span in its two largest units, rounded down: "1h 30min", "2d", "45s", "0s".
std::string formatDuration(std::chrono::milliseconds span);

} // namespace genv::core
