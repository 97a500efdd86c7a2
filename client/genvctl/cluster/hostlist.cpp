// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/hostlist.hpp"

#include "client/genvctl/cluster/gres.hpp"
#include "client/genvctl/terminal/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace genv::ctl::cluster {

namespace {

constexpr std::size_t maxHosts = 65536;

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

struct NumberRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::size_t width = 0;
};

std::optional<NumberRange> readRange(std::string_view text) {
    const std::size_t dash = text.find('-');
    const std::string_view low = text.substr(0, dash);
    const auto first = parseNumber(low);
    const auto last = dash == std::string_view::npos ? first : parseNumber(text.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= maxHosts)
        return std::nullopt;
    return NumberRange{*first, *last, low.size()};
}

// Expands the first pair of brackets of a part. The recursive calls expand the other pairs.
void expand(const std::string& part, std::vector<std::string>& names) {
    const std::size_t open = part.find('[');
    const std::size_t close = part.find(']', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || close == std::string::npos) {
        if (names.size() < maxHosts)
            names.push_back(part);
        return;
    }
    const std::string before = part.substr(0, open);
    const std::string after = part.substr(close + 1);
    for (const std::string_view piece :
         splitGres(std::string_view(part).substr(open + 1, close - open - 1))) {
        const auto range = readRange(piece);
        if (!range) {
            expand(before + std::string(piece) + after, names);
            continue;
        }
        for (std::uint64_t i = range->first; i <= range->last && names.size() < maxHosts; ++i)
            expand(fmt::format("{}{:0{}}{}", before, i, range->width, after), names);
    }
}

std::string_view takeNumber(std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), isDigit);
    std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(number.size());
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

} // namespace

std::vector<std::string> expandHosts(std::string_view list) {
    std::vector<std::string> names;
    for (const std::string_view part : splitGres(list))
        expand(std::string(part), names);
    return names;
}

bool comesBefore(std::string_view first, std::string_view second) {
    while (!first.empty() && !second.empty()) {
        if (isDigit(first.front()) && isDigit(second.front())) {
            const std::string_view one = takeNumber(first);
            const std::string_view other = takeNumber(second);
            if (one != other)
                return one.size() != other.size() ? one.size() < other.size() : one < other;
            continue;
        }
        if (first.front() != second.front())
            return first.front() < second.front();
        first.remove_prefix(1);
        second.remove_prefix(1);
    }
    return first.size() < second.size();
}

} // namespace genv::ctl::cluster
