// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/line_text.hpp"

#include <algorithm>
#include <charconv>

namespace genv::shims::nvidia_smi {

namespace {

bool isSpace(char character) {
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
}

} // namespace

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && isSpace(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && isSpace(text.back()))
        text.remove_suffix(1);
    return text;
}

bool startsWith(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

std::size_t indentation(std::string_view line) {
    return std::min(line.find_first_not_of(" \t"), line.size());
}

std::optional<std::uint64_t> parseNumber(std::string_view text) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc() || stopped != end)
        return std::nullopt;
    return number;
}

std::vector<Word> words(std::string_view line, std::size_t max) {
    std::vector<Word> found;
    std::size_t at = 0;
    while (found.size() < max) {
        while (at < line.size() && isSpace(line[at]))
            ++at;
        if (at == line.size())
            break;
        const std::size_t begin = at;
        while (at < line.size() && !isSpace(line[at]))
            ++at;
        found.push_back({line.substr(begin, at - begin), begin});
    }
    return found;
}

std::vector<std::string_view> split(std::string_view text, std::string_view delimiter) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(delimiter);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + delimiter.size());
    }
}

std::string lowered(std::string_view text) {
    std::string lower(text);
    for (char& character : lower) {
        if (character >= 'A' && character <= 'Z')
            character = static_cast<char>(character - 'A' + 'a');
    }
    return lower;
}

void putRight(std::string& line, std::size_t first, std::size_t end, const std::string& word) {
    std::size_t begin = end;
    while (begin > first && line[begin - 1] != ' ')
        --begin;
    while (end - begin < word.size() && begin > first && line[begin - 1] == ' ')
        --begin;
    const std::size_t room = end - begin;
    const std::size_t padding = room - std::min(room, word.size());
    line.replace(begin, room, std::string(padding, ' ') + word);
}

std::string_view withoutEnd(std::string_view line) {
    if (!line.empty() && line.back() == '\n')
        line.remove_suffix(1);
    if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);
    return line;
}

} // namespace genv::shims::nvidia_smi
