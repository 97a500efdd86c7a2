// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats results as JSON: times in microseconds since the epoch, null for unset values.
#pragma once

#include "genv/types.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <string>

namespace genv::ctl {

/// Keeps keys in the order in which they are written.
using Json = nlohmann::ordered_json;

/// Returns one line, or with `pretty` indented lines. Characters that a terminal could interpret as
/// commands are escaped.
std::string jsonText(const Json& json, bool pretty);

Json toJson(const Configuration& configuration);
/// Returns microseconds since the epoch.
Json toJson(Time time);
/// Returns seconds.
Json toJson(std::chrono::microseconds span);

template <typename Value>
concept CanBeEmpty = requires(const Value& value) {
    value.empty();
};

/// Returns a text or a list, or null if it is empty.
template <CanBeEmpty Text>
Json orNull(const Text& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}
/// Returns a number, or null if it is 0.
template <std::unsigned_integral Number>
Json orNull(Number number) {
    return number == 0 ? Json(nullptr) : Json(number);
}
/// Returns a value, or null if it is not set.
template <typename Value>
Json orNull(const std::optional<Value>& value) {
    if (!value)
        return nullptr;
    if constexpr (requires { toJson(*value); })
        return toJson(*value);
    else if constexpr (CanBeEmpty<Value>)
        return orNull(*value);
    else
        return *value;
}

} // namespace genv::ctl
