// SPDX-License-Identifier: LGPL-2.1-or-later
// How things are written for people: foreign text, times and amounts.
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

/// Foreign text for a terminal or a table: what is not printable, or is no UTF-8, becomes \xNN by
/// bytes; everything else stays as it is.
std::string shown(std::string_view text);

/// How long ago something was, in the largest unit that fits: "1 second ago", "27 minutes ago", "7
/// hours ago", "2 weeks ago". A moment in the future is "0 seconds ago".
std::string relativeTime(Time then, Time now);

/// How long it is until something, in the two largest units: "in 1h 59min". A moment in the past is
/// "in 0s".
std::string relativeFuture(Time then, Time now);

/// The moment now.
Time currentTime();

/// A moment of today as `%H:%M`, another one with its day, as `%d/%m %H:%M`.
std::string shortTimestamp(Time time, Time now);

/// How many terminal cells a text takes that shown() made.
std::size_t cells(std::string_view text);
/// The text, or its beginning and an ellipsis where it would take more cells than this.
std::string shortened(std::string_view text, std::size_t width);

/// A moment in the machine's time zone, as `%d/%m/%Y %H:%M:%S`.
std::string timestamp(Time time);

/// A time span as people type it, to the millisecond, such as "1h 30min".
std::string spanText(std::chrono::microseconds span);
/// An amount of memory as people type it, such as "4g".
std::string amount(std::uint64_t bytes);

/// Numbers or words with a separator between them.
std::string joined(const std::vector<std::uint32_t>& numbers, std::string_view separator);
std::string joined(const std::vector<std::string>& words, std::string_view separator);

/// Reads a whole number of 32 bits; nothing for anything else.
std::optional<std::uint32_t> parseNumber(std::string_view text);

} // namespace genv::ctl
