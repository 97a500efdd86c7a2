// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/quiet_hours.hpp"

#include <fmt/format.h>

#include <ctime>

namespace genv::messages {

namespace {

using namespace std::chrono_literals;

std::optional<int> twoDigits(std::string_view text, int max) {
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    if (text.size() != 2 || !isDigit(text[0]) || !isDigit(text[1]))
        return std::nullopt;
    const int number = (text[0] - '0') * 10 + (text[1] - '0');
    return number <= max ? std::optional(number) : std::nullopt;
}

std::optional<std::chrono::minutes> timeOfDay(std::string_view text) {
    if (text.size() != 5 || text[2] != ':')
        return std::nullopt;
    const auto hour = twoDigits(text.substr(0, 2), 23);
    const auto minute = twoDigits(text.substr(3), 59);
    if (!hour || !minute)
        return std::nullopt;
    return std::chrono::hours(*hour) + std::chrono::minutes(*minute);
}

std::string textOf(std::chrono::minutes time) {
    return fmt::format("{:02}:{:02}", time / std::chrono::hours(1),
                       (time % std::chrono::hours(1)).count());
}

} // namespace

std::optional<QuietHours> parseQuietHours(std::string_view text) {
    if (text.size() != 11 || text[5] != '-')
        return std::nullopt;
    const auto from = timeOfDay(text.substr(0, 5));
    const auto to = timeOfDay(text.substr(6));
    if (!from || !to || *from == *to)
        return std::nullopt;
    return QuietHours{*from, *to};
}

std::string textOf(const QuietHours& hours) {
    return textOf(hours.from) + '-' + textOf(hours.to);
}

std::optional<core::WallTime> endOfQuiet(const QuietHours& hours, core::WallTime now) {
    std::tm local = core::localTime(now);
    const auto time = std::chrono::hours(local.tm_hour) + std::chrono::minutes(local.tm_min);
    const bool isOverNight = hours.from > hours.to;
    const bool isQuiet =
        isOverNight ? time >= hours.from || time < hours.to : time >= hours.from && time < hours.to;
    if (!isQuiet)
        return std::nullopt;
    if (isOverNight && time >= hours.from)
        ++local.tm_mday; // mktime() carries over
    local.tm_hour = static_cast<int>(hours.to / std::chrono::hours(1));
    local.tm_min = static_cast<int>((hours.to % std::chrono::hours(1)).count());
    local.tm_sec = 0;
    local.tm_isdst = -1;
    const auto end = core::WallTime(std::chrono::seconds(std::mktime(&local)));
    // In the hour that a clock repeats, the end may lie behind.
    return end > now ? end : now + 1min;
}

} // namespace genv::messages
