// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks the address to which messages go by mail.
#include "client/messages/model/mail_address.hpp"

#include <algorithm>
#include <cstddef>

namespace genv::messages {

namespace {

constexpr std::size_t maxAddress = 254;
constexpr std::size_t maxLocalPart = 64;

bool isAlphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A dot-atom of RFC 5322. The characters that programs of old took for a route or a pipe are left
// out.
bool isDotted(std::string_view text, std::string_view further) {
    if (text.empty() || text.front() == '.' || text.back() == '.' || text.front() == '-' ||
        text.find("..") != std::string_view::npos)
        return false;
    return std::all_of(text.begin(), text.end(), [further](char c) {
        return isAlphanumeric(c) || c == '.' || further.find(c) != std::string_view::npos;
    });
}

} // namespace

bool isMailAddress(std::string_view text) {
    if (text.size() > maxAddress)
        return false;
    const std::size_t sign = text.find('@');
    const std::string_view local = text.substr(0, sign);
    if (local.size() > maxLocalPart || !isDotted(local, "-_+='&#*$~"))
        return false;
    return sign == std::string_view::npos || isDotted(text.substr(sign + 1), "-");
}

} // namespace genv::messages
