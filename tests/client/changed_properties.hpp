// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies of properties in which one is another, or is missing.
#pragma once

#include "client/libgenv/properties.hpp"

namespace genv::client {

inline Properties without(const Properties& properties, std::string_view name) {
    Properties rest;
    for (const auto& [other, value] : properties) {
        if (other != name)
            rest.add(other, value);
    }
    return rest;
}

inline Properties changed(const Properties& properties, std::string_view name, Value value) {
    Properties all = without(properties, name);
    all.add(name, std::move(value));
    return all;
}

} // namespace genv::client
