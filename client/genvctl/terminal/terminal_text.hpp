// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats foreign text, times and amounts for people.
#pragma once

#include "genv/types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::ctl {

/// Makes foreign text safe for a terminal or a table: bytes that are not printable or not valid
/// UTF-8 become \xNN. All other text stays unchanged.
std::string shown(std::string_view text);

/// Returns how long ago a time was, in the largest unit that fits: "1 second ago", "27 minutes
/// ago", "7 hours ago", "2 weeks ago". A time in the future is "0 seconds ago".
std::string relativeTime(Time then, Time now);

/// Returns the time until an event, in the two largest units: "in 1h 59min". A time in the past is
/// "in 0s".
std::string relativeFuture(Time then, Time now);

/// Returns the current time.
Time currentTime();

/// Formats a time as `%H:%M` if it is today, otherwise with the day as `%Y-%m-%d %H:%M`.
std::string shortTimestamp(Time time, Time now);

/// Returns the number of terminal cells of a text returned by shown().
std::size_t cells(std::string_view text);
/// Returns the text, or its beginning with an ellipsis if it needs more cells than `width`.
std::string shortened(std::string_view text, std::size_t width);

/// Wraps the words of a foreign text after `first`, with an indent for further lines. A word that
/// is longer than a line gets its own line. The result ends with a newline.
std::string wrapped(std::string first, std::string_view text, std::string_view indent,
                    std::size_t width);

/// Formats a time in the machine's time zone as genv 1 does: `%d/%m/%Y %H:%M:%S`. Sentences use
/// core::nameTime().
std::string timestamp(Time time);

/// Formats a time span as users type it, to the millisecond, such as "1h 30min".
std::string spanText(std::chrono::microseconds span);
/// Formats an amount of memory as users type it, such as "4g".
std::string amount(std::uint64_t bytes);

/// Joins numbers or words with a separator.
std::string joined(const std::vector<std::uint32_t>& numbers, std::string_view separator);
std::string joined(const std::vector<std::string>& words, std::string_view separator);

/// Parses a 32-bit whole number. Returns nothing for any other text.
std::optional<std::uint32_t> parseNumber(std::string_view text);

} // namespace genv::ctl
