// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats results as JSON: amounts in bytes, times in microseconds since the epoch, null for unset
// values.
#pragma once

#include "genv/types.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace genv::ctl {

/// Keeps keys in the order in which they are written.
using Json = nlohmann::ordered_json;

/// Returns one line, or with `pretty` indented lines. Characters that a terminal could interpret as
/// commands are escaped.
std::string jsonText(const Json& json, bool pretty);

/// Returns a value, or null.
template <typename Value>
Json orNull(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json toJson(const Configuration& configuration);
/// Returns microseconds since the epoch.
Json toJson(Time time);

} // namespace genv::ctl
