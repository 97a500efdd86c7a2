// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/printable.hpp"

#include <fmt/format.h>

namespace genv::shims {

std::string printable(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c >= ' ' && c <= '~' && c != '\\')
            safe += c;
        else
            safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return safe;
}

} // namespace genv::shims
