// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/printable.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

namespace genv::monitor {

std::string printable(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        std::string_view after = text;
        const auto character = core::takeCharacter(after);
        const std::size_t length = character ? text.size() - after.size() : 1;
        if (character && core::isPrintable(*character)) {
            result += text.substr(0, length);
        } else {
            for (const char byte : text.substr(0, length))
                result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
        }
        text.remove_prefix(length);
    }
    return result;
}

} // namespace genv::monitor
