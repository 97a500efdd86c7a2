// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/base/text.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <array>

namespace genv::core {

namespace {

struct Range {
    char32_t first;
    char32_t last;
};

// Unicode 15.0, categories Cc, Cf, Zl and Zp.
constexpr std::array unprintable{
    Range{0x0000, 0x001F},   Range{0x007F, 0x009F},   Range{0x00AD, 0x00AD},
    Range{0x0600, 0x0605},   Range{0x061C, 0x061C},   Range{0x06DD, 0x06DD},
    Range{0x070F, 0x070F},   Range{0x0890, 0x0891},   Range{0x08E2, 0x08E2},
    Range{0x180E, 0x180E},   Range{0x200B, 0x200F},   Range{0x2028, 0x202E},
    Range{0x2060, 0x2064},   Range{0x2066, 0x206F},   Range{0xFEFF, 0xFEFF},
    Range{0xFFF9, 0xFFFB},   Range{0x110BD, 0x110BD}, Range{0x110CD, 0x110CD},
    Range{0x13430, 0x1343F}, Range{0x1BCA0, 0x1BCA3}, Range{0x1D173, 0x1D17A},
    Range{0xE0001, 0xE0001}, Range{0xE0020, 0xE007F},
};

bool isIdentifierCharacter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("._:@-").find(c) != std::string_view::npos;
}

} // namespace

bool isIdentifier(std::string_view text) {
    return !text.empty() && text.size() <= maxNameLength &&
           std::all_of(text.begin(), text.end(), isIdentifierCharacter);
}

void requireIdentifier(std::string_view text, std::string_view what) {
    if (!isIdentifier(text))
        fail(ErrorCode::InvalidArgs,
             "\"{}\" cannot be the {}; use 1 to {} letters, digits and the characters . _ : @ -",
             escaped(text), what, maxNameLength);
}

void requireName(std::string_view text) {
    std::string_view rest = text;
    bool good = !text.empty() && text.size() <= maxNameLength;
    while (good && !rest.empty()) {
        const auto character = takeCharacter(rest);
        good = character && isPrintable(*character);
    }
    if (!good)
        fail(ErrorCode::InvalidArgs,
             "\"{}\" cannot be a name; use 1 to {} bytes of UTF-8 without control and invisible "
             "characters",
             escaped(text), maxNameLength);
}

std::optional<char32_t> takeCharacter(std::string_view& text) {
    if (text.empty())
        return std::nullopt;
    const auto lead = static_cast<unsigned char>(text[0]);
    std::size_t length = 1;
    char32_t character = lead;
    char32_t smallest = 0;
    if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4, character = lead & 0x07U, smallest = 0x10000;
    } else if (lead >= 0xE0 && lead < 0xF0) {
        length = 3, character = lead & 0x0FU, smallest = 0x800;
    } else if (lead >= 0xC2 && lead < 0xE0) {
        length = 2, character = lead & 0x1FU, smallest = 0x80;
    } else if (lead >= 0x80) {
        return std::nullopt;
    }
    if (text.size() < length)
        return std::nullopt;
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if ((next & 0xC0U) != 0x80U)
            return std::nullopt;
        character = (character << 6U) | (next & 0x3FU);
    }
    if (character < smallest || character > 0x10FFFF ||
        (character >= 0xD800 && character <= 0xDFFF))
        return std::nullopt;
    text.remove_prefix(length);
    return character;
}

bool isPrintable(char32_t character) {
    const auto range = std::lower_bound(unprintable.begin(), unprintable.end(), character,
                                        [](const Range& r, char32_t c) { return r.last < c; });
    return range == unprintable.end() || character < range->first;
}

namespace {

// Escapes unprintable characters as \xNN for each byte, and `special` characters with a backslash.
std::string withEscapes(std::string_view text, std::u32string_view special) {
    std::string result;
    while (!text.empty()) {
        std::string_view after = text;
        const auto character = takeCharacter(after);
        const std::size_t bytes = character ? text.size() - after.size() : 1;
        const std::string_view taken = text.substr(0, bytes);
        text.remove_prefix(bytes);
        if (character && isPrintable(*character)) {
            if (special.find(*character) != std::u32string_view::npos)
                result += '\\';
            result += taken;
        } else {
            for (const char byte : taken)
                result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
        }
    }
    return result;
}

} // namespace

std::string escaped(std::string_view text, std::size_t maxLength) {
    const std::string result = withEscapes(text.substr(0, maxLength), U"\\\"");
    return text.size() > maxLength ? result + "..." : result;
}

std::string printable(std::string_view text) {
    return withEscapes(text, {});
}

} // namespace genv::core
