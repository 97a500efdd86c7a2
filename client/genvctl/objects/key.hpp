// SPDX-License-Identifier: LGPL-2.1-or-later
// An entry of the tables of keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace genv::ctl::schema {

/// A key of a thing. Amounts have their unit in the name.
struct Key {
    std::string_view name;
    /// "text", "integer", "number", "boolean", "time" or "texts" (an object of texts), the name of
    /// another thing, or "list of" one of these.
    std::string_view type;
    std::string_view meaning; ///< a phrase in Markdown
};

/// Returns the keys of several tables as one table.
template <std::size_t... sizes>
constexpr auto joined(const std::array<Key, sizes>&... tables) {
    std::array<Key, (sizes + ...)> all{};
    auto next = all.begin();
    ((next = std::ranges::copy(tables, next).out), ...);
    return all;
}

} // namespace genv::ctl::schema
