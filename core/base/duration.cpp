// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/duration.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace genv::core {

namespace {

struct TimeUnit {
    std::string_view name;
    std::uint64_t milliseconds;
};

constexpr std::uint64_t oneSecond = 1000;
constexpr std::uint64_t oneMinute = 60 * oneSecond;
constexpr std::uint64_t oneHour = 60 * oneMinute;
constexpr std::uint64_t oneDay = 24 * oneHour;
constexpr std::uint64_t maxDuration = 100ULL * 366 * oneDay;

constexpr std::array timeUnits{
    TimeUnit{"", oneSecond},
    TimeUnit{"ms", 1},
    TimeUnit{"msec", 1},
    TimeUnit{"s", oneSecond},
    TimeUnit{"sec", oneSecond},
    TimeUnit{"second", oneSecond},
    TimeUnit{"seconds", oneSecond},
    TimeUnit{"m", oneMinute},
    TimeUnit{"min", oneMinute},
    TimeUnit{"minute", oneMinute},
    TimeUnit{"minutes", oneMinute},
    TimeUnit{"h", oneHour},
    TimeUnit{"hr", oneHour},
    TimeUnit{"hour", oneHour},
    TimeUnit{"hours", oneHour},
    TimeUnit{"d", oneDay},
    TimeUnit{"day", oneDay},
    TimeUnit{"days", oneDay},
    TimeUnit{"w", 7 * oneDay},
    TimeUnit{"week", 7 * oneDay},
    TimeUnit{"weeks", 7 * oneDay},
};

void skipSpaces(std::string_view& text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
}

const TimeUnit* takeUnit(std::string_view& text) {
    const std::size_t length = std::min(text.find_first_of(" 0123456789"), text.size());
    const std::string_view name = text.substr(0, length);
    for (const TimeUnit& unit : timeUnits) {
        if (unit.name == name) {
            text.remove_prefix(length);
            return &unit;
        }
    }
    return nullptr;
}

} // namespace

std::chrono::milliseconds parseDuration(std::string_view text) {
    std::string_view rest = text;
    std::uint64_t total = 0;
    bool good = !rest.empty();
    do {
        skipSpaces(rest);
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        good = good && error == std::errc{};
        if (!good)
            break;
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        skipSpaces(rest);
        const TimeUnit* unit = takeUnit(rest);
        good = unit != nullptr && number <= maxDuration / unit->milliseconds;
        if (good)
            total += number * unit->milliseconds;
        good = good && total <= maxDuration;
        skipSpaces(rest);
    } while (good && !rest.empty());
    if (!good)
        fail(ErrorCode::InvalidArgs,
             "invalid time span \"{}\": expected a number and a unit, such as 30s, 10min or 2h",
             escaped(text));
    return std::chrono::milliseconds{static_cast<std::int64_t>(total)};
}

std::chrono::milliseconds parseTypedDuration(std::string_view text) {
    const std::chrono::milliseconds span = parseDuration(text);
    const std::size_t last = text.find_last_not_of(' ');
    const bool hasUnit = text.at(last) < '0' || text.at(last) > '9';
    if (!hasUnit && span.count() != 0)
        fail(
            ErrorCode::InvalidArgs,
            "invalid time span \"{}\": expected a unit after each number, such as 30s, 10min or 2h",
            escaped(text));
    return span;
}

std::string formatDuration(std::chrono::milliseconds span) {
    constexpr std::array written{TimeUnit{"d", oneDay}, TimeUnit{"h", oneHour},
                                 TimeUnit{"min", oneMinute}, TimeUnit{"s", oneSecond}};
    auto remaining = static_cast<std::uint64_t>(std::max<std::int64_t>(span.count(), 0));
    std::string text;
    int places = 0;
    for (const TimeUnit& unit : written) {
        const std::uint64_t count = remaining / unit.milliseconds;
        remaining %= unit.milliseconds;
        if (count > 0 && places < 2) {
            text += fmt::format("{}{}{}", text.empty() ? "" : " ", count, unit.name);
            ++places;
        } else if (places > 0) {
            break; // "1h", not "1h 5s"
        }
    }
    return text.empty() ? "0s" : text;
}

} // namespace genv::core
