// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/isolation/kernel_texts.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

namespace genv::service::isolation {

namespace {

// The kernel writes blanks and backslashes in paths as \ooo.
std::string unescape(const std::string& text) {
    const auto isOctal = [](char c) { return c >= '0' && c <= '7'; };
    std::string plain;
    for (std::size_t n = 0; n < text.size(); ++n) {
        if (text[n] == '\\' && n + 3 < text.size() && isOctal(text[n + 1]) &&
            isOctal(text[n + 2]) && isOctal(text[n + 3])) {
            plain += static_cast<char>((text[n + 1] - '0') * 64 + (text[n + 2] - '0') * 8 +
                                       (text[n + 3] - '0'));
            n += 3;
        } else {
            plain += text[n];
        }
    }
    return plain;
}

std::vector<std::string> wordsOf(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

} // namespace

std::optional<std::filesystem::path> findControlGroups(const std::string& mountinfo) {
    constexpr std::size_t rootWord = 3;
    constexpr std::size_t placeWord = 4;
    std::istringstream stream(mountinfo);
    for (std::string line; std::getline(stream, line);) {
        const std::vector<std::string> words = wordsOf(line);
        // A hyphen ends the optional fields. The type follows it.
        const auto hyphen = std::ranges::find(words, "-");
        if (hyphen - words.begin() <= static_cast<std::ptrdiff_t>(placeWord) ||
            words.end() - hyphen < 2)
            continue;
        if (*(hyphen + 1) == "cgroup2" && words[rootWord] == "/")
            return unescape(words[placeWord]);
    }
    return std::nullopt;
}

std::optional<std::uint32_t> findCharacterMajor(const std::string& devices,
                                                std::string_view driver) {
    std::istringstream stream(devices);
    bool areCharacterDevices = false;
    for (std::string line; std::getline(stream, line);) {
        if (line.ends_with("devices:")) {
            areCharacterDevices = line.starts_with("Character");
            continue;
        }
        std::istringstream words(line);
        std::uint32_t major = 0;
        std::string name;
        if (areCharacterDevices && words >> major >> name && name == driver)
            return major;
    }
    return std::nullopt;
}

} // namespace genv::service::isolation
