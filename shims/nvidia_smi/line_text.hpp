// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses nvidia-smi's lines, and replaces numbers without moving anything else on the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace genv::shims::nvidia_smi {

std::string_view trimmed(std::string_view text);
bool startsWith(std::string_view text, std::string_view start);
/// Returns the number of leading spaces and tabs of a line.
std::size_t indentation(std::string_view line);
/// Returns a number that is the whole text, or nothing.
std::optional<std::uint64_t> parseNumber(std::string_view text);

/// A word of a line and its position.
struct Word {
    std::string_view text;
    std::size_t begin = 0;
    [[nodiscard]] std::size_t end() const { return begin + text.size(); }
};
/// Returns at most `max` words, separated by spaces.
std::vector<Word> words(std::string_view line, std::size_t max = 64);

/// Splits text at each `separator` without trimming. Returns one part if there is none.
std::vector<std::string_view> split(std::string_view text, std::string_view separator);

/// Returns text with ASCII letters in lower case.
std::string lowered(std::string_view text);

/// Writes a word so that it ends at `end`, replacing the previous word and spaces from `first` on.
/// The rest of the line moves only if there is not enough room.
void putRight(std::string& line, std::size_t first, std::size_t end, const std::string& word);

/// Returns a line without its line feed and a carriage return before it.
std::string_view withoutEnd(std::string_view line);

} // namespace genv::shims::nvidia_smi
