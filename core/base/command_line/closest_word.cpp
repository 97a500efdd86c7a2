// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/command_line/closest_word.hpp"

#include <algorithm>
#include <cstddef>

namespace genv::core {

namespace {

// Longer words are no names, and the time grows with the square of the length.
constexpr std::size_t maxLength = 128;

// Counts the mistakes between two words: the optimal string alignment distance.
std::size_t mistakes(std::string_view a, std::string_view b) {
    using Row = std::vector<std::size_t>;
    std::vector<Row> table(a.size() + 1, Row(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            const std::size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, replaced});
            const bool isSwapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (isSwapped)
                table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
        }
    }
    return table.back().back();
}

} // namespace

std::optional<std::string> closestWord(std::string_view word,
                                       const std::vector<std::string>& known) {
    std::optional<std::string> closest;
    std::size_t allowed = std::max<std::size_t>(word.size() / 3, 1);
    if (word.size() < 2 || word.size() > maxLength)
        return closest;
    for (const std::string& candidate : known) {
        const std::size_t longer = std::max(word.size(), candidate.size());
        const std::size_t shorter = std::min(word.size(), candidate.size());
        if (longer - shorter > allowed)
            continue;
        const std::size_t count = mistakes(word, candidate);
        if (count > allowed || count == 0)
            continue;
        closest = candidate;
        if (count == 1)
            break;
        allowed = count - 1; // the next one must be closer
    }
    return closest;
}

} // namespace genv::core
