// SPDX-License-Identifier: LGPL-2.1-or-later
// Text for the markup of desktop notifications and Slack, which have the same control characters.
#pragma once

#include <string>
#include <string_view>

namespace genv::core {

/// Escapes the three control characters. Without them, a text holds no tag, no link and no mention.
inline std::string escapedForMarkup(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '&')
            result += "&amp;";
        else if (c == '<')
            result += "&lt;";
        else if (c == '>')
            result += "&gt;";
        else
            result += c;
    }
    return result;
}

} // namespace genv::core
