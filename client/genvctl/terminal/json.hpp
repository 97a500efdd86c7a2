// SPDX-License-Identifier: LGPL-2.1-or-later
// Results as JSON: amounts in bytes, times in microseconds since the epoch, null for what is unset.
#pragma once

#include "genv/types.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace genv::ctl {

/// Keys stay in the order they are written in.
using Json = nlohmann::ordered_json;

/// One line, or with `pretty` indented lines. What a terminal could take for a command is escaped.
std::string jsonText(const Json& json, bool pretty);

/// A value, or null.
template <typename Value>
Json orNull(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json toJson(const Configuration& configuration);
/// Microseconds since the epoch.
Json toJson(Time time);

} // namespace genv::ctl
