// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/model/encoded_words.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace genv::messages {

namespace {

// An encoded word has at most 75 characters, 12 of which are "=?UTF-8?B?" and "?=".
constexpr std::size_t maxBytes = std::size_t{(75 - 12) / 4} * 3;
// A line of a header has at most 78 characters, with the name of the header.
constexpr std::size_t maxPlain = 60;

bool isContinuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// Returns the length of a part that ends between two characters.
std::size_t partLength(std::string_view text) {
    std::size_t length = std::min(maxBytes, text.size());
    while (length > 1 && length < text.size() && isContinuation(text[length]))
        --length;
    return length;
}

bool needsNoEncoding(std::string_view text) {
    return text.size() <= maxPlain && text.find("=?") == std::string_view::npos &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

} // namespace

std::string base64(std::string_view bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
        std::uint32_t group = 0;
        for (std::size_t index = 0; index < 3; ++index)
            group =
                group << 8U | (index < count ? static_cast<unsigned char>(bytes[at + index]) : 0U);
        for (std::size_t index = 0; index < 4; ++index)
            text += index <= count ? digits[group >> (18 - 6 * index) & 0x3FU] : '=';
    }
    return text;
}

std::string headerText(std::string_view text, std::string_view separator) {
    if (needsNoEncoding(text))
        return std::string(text);
    std::string value;
    while (!text.empty()) {
        const std::size_t length = partLength(text);
        value.append(value.empty() ? "" : separator)
            .append("=?UTF-8?B?")
            .append(base64(text.substr(0, length)))
            .append("?=");
        text.remove_prefix(length);
    }
    return value;
}

} // namespace genv::messages
