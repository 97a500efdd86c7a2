// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the properties of an object, and the details of an event or of a process.
#pragma once

#include "dbus/contract/names.hpp"
#include "dbus/contract/sdbus_compat.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace genv::client {

using Dictionary = std::map<std::string, sdbus::Variant>;

/// A property that every object of its kind has.
template <typename Value, typename Entries>
Value property(const Entries& properties, const char* name) {
    const auto found = properties.find(name);
    if (found == properties.end())
        throw dbus::compat::makeError(dbus::contract::error::failed,
                                      std::string("the service's answer lacks the property ") +
                                          name);
    return found->second.template get<Value>();
}

/// A detail that may be missing.
template <typename Value, typename Entries>
std::optional<Value> detail(const Entries& details, const char* name) {
    const auto found = details.find(name);
    if (found == details.end())
        return std::nullopt;
    return found->second.template get<Value>();
}

/// Zero and the empty text mean that there is no value.
template <typename Value>
std::optional<Value> unlessZero(Value value) {
    return value == Value{} ? std::nullopt : std::optional<Value>(std::move(value));
}

/// The largest number of a type means that the value is unknown.
template <typename Value>
std::optional<Value> unlessLargest(Value value) {
    return value == std::numeric_limits<Value>::max() ? std::nullopt : std::optional(value);
}

} // namespace genv::client
