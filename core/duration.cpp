// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/duration.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace genv::core {

namespace {

struct Unit {
    std::string_view name;
    std::uint64_t milliseconds;
};

constexpr std::uint64_t second = 1000;
constexpr std::uint64_t minute = 60 * second;
constexpr std::uint64_t hour = 60 * minute;
constexpr std::uint64_t day = 24 * hour;
constexpr std::uint64_t longest = 100ULL * 366 * day;

constexpr std::array units{
    Unit{"", second},       Unit{"ms", 1},          Unit{"msec", 1},         Unit{"s", second},
    Unit{"sec", second},    Unit{"second", second}, Unit{"seconds", second}, Unit{"m", minute},
    Unit{"min", minute},    Unit{"minute", minute}, Unit{"minutes", minute}, Unit{"h", hour},
    Unit{"hr", hour},       Unit{"hour", hour},     Unit{"hours", hour},     Unit{"d", day},
    Unit{"day", day},       Unit{"days", day},      Unit{"w", 7 * day},      Unit{"week", 7 * day},
    Unit{"weeks", 7 * day},
};

void skipSpaces(std::string_view& text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
}

const Unit* takeUnit(std::string_view& text) {
    const std::size_t length = std::min(text.find_first_of(" 0123456789"), text.size());
    const std::string_view name = text.substr(0, length);
    for (const Unit& unit : units) {
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
        const Unit* unit = takeUnit(rest);
        good = unit != nullptr && number <= longest / unit->milliseconds;
        if (good)
            total += number * unit->milliseconds;
        good = good && total <= longest;
        skipSpaces(rest);
    } while (good && !rest.empty());
    if (!good)
        fail(ErrorCode::InvalidArgs,
             "\"{}\" is not a time span; write a number and a unit, such as 30s, 10min or 2h",
             escaped(text));
    return std::chrono::milliseconds{static_cast<std::int64_t>(total)};
}

std::string formatDuration(std::chrono::milliseconds span) {
    constexpr std::array written{Unit{"d", day}, Unit{"h", hour}, Unit{"min", minute},
                                 Unit{"s", second}};
    auto left = static_cast<std::uint64_t>(std::max<std::int64_t>(span.count(), 0));
    std::string text;
    int places = 0;
    for (const Unit& unit : written) {
        const std::uint64_t count = left / unit.milliseconds;
        left %= unit.milliseconds;
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
