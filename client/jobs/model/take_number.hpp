// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the numbers in the names of attempts and of their environments.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace genv::jobs {

/// Takes digits from the start of the text, in the only form in which a number is written.
[[nodiscard]] inline std::optional<std::uint32_t> takeNumber(std::string_view& text) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || (length > 1 && text.front() == '0'))
        return std::nullopt;
    text.remove_prefix(length);
    return number;
}

} // namespace genv::jobs
