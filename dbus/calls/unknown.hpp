// SPDX-License-Identifier: LGPL-2.1-or-later
// Unknown numbers on the bus are represented by the maximum of their type, since 0 could be a
// reading.
#pragma once

#include "core/base/bytes.hpp"

#include <cstdint>
#include <limits>
#include <optional>

namespace genv::dbus {

template <typename Number>
constexpr Number orMaximum(const std::optional<Number>& value) {
    return value.value_or(std::numeric_limits<Number>::max());
}

constexpr std::uint64_t orMaximum(const std::optional<core::Bytes>& value) {
    return value ? value->count : std::numeric_limits<std::uint64_t>::max();
}

} // namespace genv::dbus
