// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/terminal_text.hpp"

#include "core/base/bytes.hpp"
#include "core/base/duration.hpp"
#include "core/base/text.hpp"
#include "core/base/time.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <sstream>
#include <utility>

namespace genv::ctl {

std::string shown(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        std::string_view rest = text;
        const auto character = core::takeCharacter(rest);
        const std::size_t length = character ? text.size() - rest.size() : 1;
        if (character && core::isPrintable(*character)) {
            result += text.substr(0, length);
        } else {
            for (const char byte : text.substr(0, length))
                result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
        }
        text.remove_prefix(length);
    }
    return result;
}

namespace {

// Returns a time span in the largest unit that fits; "0 seconds" for less than a second.
std::string largestUnit(Time::duration span) {
    struct Unit {
        std::string_view name;
        std::int64_t seconds;
    };
    constexpr std::array units{Unit{"week", std::int64_t{7} * 24 * 3600},
                               Unit{"day", std::int64_t{24} * 3600}, Unit{"hour", 3600},
                               Unit{"minute", 60}, Unit{"second", 1}};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
    for (const Unit& unit : units) {
        const std::int64_t count = seconds / unit.seconds;
        if (count > 0)
            return fmt::format("{} {}{}", count, unit.name, count == 1 ? "" : "s");
    }
    return "0 seconds";
}

} // namespace

std::string relativeTime(Time then, Time now) {
    return largestUnit(now - then) + " ago";
}

std::string relativeFuture(Time then, Time now) {
    // Rounds up, so that a lease of 2h that was just granted still reads "2h".
    const auto remaining = std::chrono::ceil<std::chrono::seconds>(then - now);
    return "in " + core::formatDuration(std::max(remaining, std::chrono::seconds{0}));
}

Time currentTime() {
    return std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
}

std::string timestamp(Time time) {
    return fmt::format("{:%d/%m/%Y %H:%M:%S}", core::localTime(time));
}

std::string shortTimestamp(Time time, Time now) {
    const std::tm then = core::localTime(time);
    const std::tm today = core::localTime(now);
    const bool isToday = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
    return isToday ? fmt::format("{:%H:%M}", then) : fmt::format("{:%Y-%m-%d %H:%M}", then);
}

std::size_t cells(std::string_view text) {
    // fmt pads by cells, and a text never has more cells than bytes.
    return text.size() - (fmt::formatted_size("{:<{}}", text, text.size()) - text.size());
}

std::string wrapped(std::string first, std::string_view text, std::string_view indent,
                    std::size_t width) {
    std::string result;
    std::string line = std::move(first);
    std::istringstream words(shown(text));
    bool isEmpty = true;
    for (std::string word; words >> word; isEmpty = false) {
        if (!isEmpty && cells(line) + 1 + cells(word) > width) {
            result += line + '\n';
            line = fmt::format("{}{}", indent, word);
        } else {
            line += (isEmpty ? "" : " ") + word;
        }
    }
    return result + line + '\n';
}

std::string shortened(std::string_view text, std::size_t width) {
    if (cells(text) <= width)
        return std::string(text);
    constexpr std::string_view ellipsis = "\u2026";
    std::string_view rest = text;
    std::size_t kept = 0;
    while (core::takeCharacter(rest)) {
        const std::size_t length = text.size() - rest.size();
        if (cells(text.substr(0, length)) + 1 > width)
            break;
        kept = length;
    }
    return std::string(text.substr(0, kept)) + std::string(width > 0 ? ellipsis : "");
}

std::string spanText(std::chrono::microseconds span) {
    return core::formatDuration(std::chrono::duration_cast<std::chrono::milliseconds>(span));
}

std::string amount(std::uint64_t bytes) {
    return core::formatBytes({bytes});
}

std::string joined(const std::vector<std::uint32_t>& numbers, std::string_view separator) {
    return fmt::format("{}", fmt::join(numbers, separator));
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    return fmt::format("{}", fmt::join(words, separator));
}

std::optional<std::uint32_t> parseNumber(std::string_view text) {
    std::uint32_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end)
        return std::nullopt;
    return number;
}

} // namespace genv::ctl
