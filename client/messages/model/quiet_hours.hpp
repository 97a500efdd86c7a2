// SPDX-License-Identifier: LGPL-2.1-or-later
// The hours of a day in which no message is sent.
#pragma once

#include "core/base/time.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace genv::messages {

/// From a time of the day to another one, in the machine's time zone. If `to` is earlier, it is on
/// the next day.
struct QuietHours {
    std::chrono::minutes from{0};
    std::chrono::minutes to{0};

    bool operator==(const QuietHours&) const = default;
};

/// Parses "22:00-07:00". Returns nothing for any other text, and for two equal times.
std::optional<QuietHours> parseQuietHours(std::string_view text);
std::string textOf(const QuietHours& hours);

/// Returns when the quiet hours that contain `now` end; nothing if none do. Also right on the days
/// on which the clocks change.
std::optional<core::WallTime> endOfQuiet(const QuietHours& hours, core::WallTime now);

} // namespace genv::messages
