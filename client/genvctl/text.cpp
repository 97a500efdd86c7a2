// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/text.hpp"

#include "core/bytes.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <ctime>

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

std::string relativeTime(Time then, Time now) {
    struct Unit {
        std::string_view name;
        std::int64_t seconds;
    };
    constexpr std::array units{Unit{"week", std::int64_t{7} * 24 * 3600},
                               Unit{"day", std::int64_t{24} * 3600}, Unit{"hour", 3600},
                               Unit{"minute", 60}, Unit{"second", 1}};
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
    for (const Unit& unit : units) {
        const std::int64_t count = elapsed / unit.seconds;
        if (count > 0)
            return fmt::format("{} {}{} ago", count, unit.name, count == 1 ? "" : "s");
    }
    return "0 seconds ago";
}

std::string timestamp(Time time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
    std::tm local{};
    localtime_r(&seconds, &local);
    std::array<char, 64> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), "%d/%m/%Y %H:%M:%S", &local);
    return {text.data(), length};
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
