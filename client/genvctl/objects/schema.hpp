// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects in JSON. Each thing has one table of keys, in a header of this folder, and every
// command writes the thing by it: all its keys in the order of the table, with null for a value
// that is unknown or does not apply.
#pragma once

#include "client/genvctl/objects/key.hpp"
#include "client/genvctl/terminal/json.hpp"

#include <cstddef>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string_view>

namespace genv::ctl {

namespace schema {

/// Returns the place of a key in its table.
constexpr std::size_t placeOf(std::span<const Key> keys, std::string_view name) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (keys[i].name == name)
            return i;
    }
    throw std::logic_error("the thing has no such key");
}

/// A value of an object. A name that is not in the table does not compile.
template <const auto& keys>
struct Member {
    struct Place {
        consteval Place(const char* name)
            : place(placeOf(keys, name)) {} // NOLINT(google-explicit-constructor)
        std::size_t place;
    } key;
    Json value;
};

/// Returns an object with these keys and nulls.
Json emptyObject(std::span<const Key> keys);

} // namespace schema

/// Sets values in an object of a thing.
template <const auto& keys>
void fill(Json& object, std::initializer_list<schema::Member<keys>> members) {
    auto& pairs = object.get_ref<Json::object_t&>();
    for (const auto& [key, value] : members)
        (pairs.begin() + static_cast<std::ptrdiff_t>(key.place))->second = value;
}

/// Returns an object of a thing: fill<schema::device>(...) sets its further values.
template <const auto& keys>
Json object(std::initializer_list<schema::Member<keys>> members) {
    Json object = schema::emptyObject(keys);
    fill<keys>(object, members);
    return object;
}

} // namespace genv::ctl
