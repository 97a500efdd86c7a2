// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading nvidia-smi's lines, and writing a number where another one stood without moving anything
// else on the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims::nvidia_smi {

std::string_view trimmed(std::string_view text);
bool startsWith(std::string_view text, std::string_view start);
/// A line's number of leading spaces and tabs.
std::size_t indentation(std::string_view line);
/// A number that is all of the text; nothing otherwise.
std::optional<std::uint64_t> parseNumber(std::string_view text);

/// A word of a line and where it stands.
struct Word {
    std::string_view text;
    std::size_t begin = 0;
    [[nodiscard]] std::size_t end() const { return begin + text.size(); }
};
/// At most this many words, separated by spaces.
std::vector<Word> words(std::string_view line, std::size_t most = 64);

/// Parts separated by `separator`, untrimmed; one for a text without it.
std::vector<std::string_view> split(std::string_view text, std::string_view separator);

/// Lower-case ASCII letters.
std::string lowered(std::string_view text);

/// Puts a word where one ends at `end`, right-aligned, over spaces that lie at or after `first`;
/// what follows moves only where there are not enough of those.
void putRight(std::string& line, std::size_t first, std::size_t end, const std::string& word);

/// Without its line feed and, where there is one, carriage return before it.
std::string_view withoutEnd(std::string_view line);

} // namespace genv::shims::nvidia_smi
