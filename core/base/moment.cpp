// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/moment.hpp"

#include "core/base/duration.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/time.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <optional>

namespace genv::core {

namespace {

// The calendar functions are not relied on outside these years.
constexpr int firstYear = 1970;
constexpr int lastYear = 9999;

// Parses exactly `digits` digits at the start of the text and removes them.
std::optional<int> takeDigits(std::string_view& text, std::size_t digits) {
    int number = 0;
    if (text.size() < digits)
        return std::nullopt;
    const char* end = text.data() + digits;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end || number < 0)
        return std::nullopt;
    text.remove_prefix(digits);
    return number;
}

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

WallTime fromLocal(std::tm local) {
    local.tm_isdst = -1;
    return WallTime{std::chrono::seconds{std::mktime(&local)}};
}

WallTime midnight(WallTime now, int days) {
    std::tm local = localTime(now);
    local.tm_hour = local.tm_min = local.tm_sec = 0;
    local.tm_mday += days;
    return fromLocal(local);
}

// Parses YYYY-MM-DD, the format of systemd.
std::optional<std::chrono::year_month_day> takeSystemdDate(std::string_view& text) {
    const auto year = takeDigits(text, 4);
    if (!year || !take(text, "-"))
        return std::nullopt;
    const auto month = takeDigits(text, 2);
    if (!month || !take(text, "-"))
        return std::nullopt;
    const auto day = takeDigits(text, 2);
    if (!day)
        return std::nullopt;
    return std::chrono::year{*year} / *month / *day;
}

// Parses DD/MM/YYYY, or DD/MM of this year, the format of genv.
std::optional<std::chrono::year_month_day> takeOwnDate(std::string_view& text, int thisYear) {
    const auto day = takeDigits(text, 2);
    if (!day || !take(text, "/"))
        return std::nullopt;
    const auto month = takeDigits(text, 2);
    if (!month)
        return std::nullopt;
    const auto year = take(text, "/") ? takeDigits(text, 4) : std::optional(thisYear);
    if (!year)
        return std::nullopt;
    return std::chrono::year{*year} / *month / *day;
}

bool takeDate(std::string_view& text, std::tm& local) {
    std::string_view rest = text;
    auto date = takeSystemdDate(rest);
    if (!date) {
        rest = text;
        date = takeOwnDate(rest, local.tm_year + 1900);
    }
    if (!date || !date->ok() || date->year() < std::chrono::year{firstYear} ||
        date->year() > std::chrono::year{lastYear})
        return false;
    local = {};
    local.tm_year = static_cast<int>(date->year()) - 1900;
    local.tm_mon = static_cast<int>(static_cast<unsigned>(date->month())) - 1;
    local.tm_mday = static_cast<int>(static_cast<unsigned>(date->day()));
    text = rest;
    return true;
}

bool takeTimeOfDay(std::string_view& text, std::tm& local) {
    std::string_view rest = text;
    const auto hour = takeDigits(rest, 2);
    if (!hour || !take(rest, ":"))
        return false;
    const auto minute = takeDigits(rest, 2);
    std::optional<int> second = 0;
    if (take(rest, ":"))
        second = takeDigits(rest, 2);
    if (!minute || !second || *hour > 23 || *minute > 59 || *second > 59)
        return false;
    local.tm_hour = *hour;
    local.tm_min = *minute;
    local.tm_sec = *second;
    text = rest;
    return true;
}

// Removes the day of the week, with which systemd prints times. The date decides.
void skipWeekday(std::string_view& text) {
    constexpr std::array days{"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "};
    static_cast<void>(std::ranges::any_of(days, [&](const char* day) { return take(text, day); }));
}

std::optional<WallTime> parseCalendar(std::string_view text, WallTime now) {
    skipWeekday(text);
    std::tm local = localTime(now);
    local.tm_hour = local.tm_min = local.tm_sec = 0;
    const bool hasDate = takeDate(text, local);
    const bool hasTime = !hasDate || !text.empty();
    if (hasDate && hasTime && !take(text, " ") && !take(text, "T"))
        return std::nullopt;
    if (hasTime && !takeTimeOfDay(text, local))
        return std::nullopt;
    return text.empty() ? std::optional(fromLocal(local)) : std::nullopt;
}

std::optional<WallTime> parseEpoch(std::string_view text) {
    constexpr std::int64_t last = 253'402'300'799; // end of the year 9999
    std::int64_t seconds = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, seconds);
    if (error != std::errc{} || stop != end || seconds < 0 || seconds > last)
        return std::nullopt;
    return WallTime{std::chrono::seconds{seconds}};
}

// Parses "-2h", "+2h" and "2h ago".
std::optional<WallTime> parseRelative(std::string_view text, WallTime now) {
    constexpr std::string_view ago = " ago";
    const bool isAgo = text.ends_with(ago);
    std::string_view span = text.substr(0, text.size() - (isAgo ? ago.size() : 0));
    const bool isBefore = !isAgo && take(span, "-");
    const bool isAfter = !isAgo && !isBefore && take(span, "+");
    if (!isAgo && !isBefore && !isAfter)
        return std::nullopt;
    try {
        const auto distance = parseDuration(span);
        return isAfter ? now + distance : now - distance;
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<WallTime> parse(std::string_view text, WallTime now) {
    if (text == "now")
        return now;
    if (text == "today")
        return midnight(now, 0);
    if (text == "yesterday")
        return midnight(now, -1);
    if (text == "tomorrow")
        return midnight(now, 1);
    if (take(text, "@"))
        return parseEpoch(text);
    if (const auto relative = parseRelative(text, now))
        return relative;
    return parseCalendar(text, now);
}

} // namespace

WallTime parseMoment(std::string_view text, WallTime now) {
    const auto moment = parse(text, now);
    if (!moment || *moment < WallTime{})
        fail(ErrorCode::InvalidArgs,
             "invalid time \"{}\": expected today, yesterday, -2h, \"2h ago\", YYYY-MM-DD, "
             "\"YYYY-MM-DD HH:MM\", \"DD/MM/YYYY HH:MM\", HH:MM or @SECONDS",
             escaped(text));
    return *moment;
}

} // namespace genv::core
