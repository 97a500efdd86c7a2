// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/sluid.hpp"

namespace genv::core {

namespace {

constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t digitCount = 13;
constexpr unsigned bitsOfDigit = 5;
constexpr std::uint64_t maxBeforeLastDigit = UINT64_MAX >> bitsOfDigit;

} // namespace

std::optional<Sluid> parseSluid(std::string_view text) {
    if (text.size() != 1 + digitCount || text.front() != 's')
        return std::nullopt;
    Sluid sluid;
    for (const char c : text.substr(1)) {
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos || sluid.value > maxBeforeLastDigit)
            return std::nullopt;
        sluid.value = (sluid.value << bitsOfDigit) | digit;
    }
    return sluid.value != 0 ? std::optional(sluid) : std::nullopt;
}

std::string toString(Sluid sluid) {
    std::string text(1 + digitCount, 's');
    for (std::size_t place = digitCount; place > 0; --place) {
        text[place] = digits[sluid.value % digits.size()];
        sluid.value /= digits.size();
    }
    return text;
}

} // namespace genv::core
