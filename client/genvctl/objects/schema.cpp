// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/objects/schema.hpp"

namespace genv::ctl::schema {

Json emptyObject(std::span<const Key> keys) {
    Json object = Json::object();
    auto& pairs = object.get_ref<Json::object_t&>();
    for (const Key& key : keys)
        pairs.emplace_back(key.name, nullptr);
    return object;
}

} // namespace genv::ctl::schema
