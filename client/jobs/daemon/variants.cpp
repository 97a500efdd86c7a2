// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/variants.hpp"

namespace genv::jobs {

ReadVariants::ReadVariants(dbus::raw::Reader& reader) {
    reader.array("{sv}", [&] {
        reader.entry("sv", [&] {
            std::string key;
            reader.read(key);
            readValue(reader, key);
        });
    });
}

void ReadVariants::readValue(dbus::raw::Reader& reader, const std::string& key) {
    const std::string_view signature = reader.variantSignature();
    if (signature == "s") {
        reader.readVariant("s", texts_[key]);
    } else if (signature == "t") {
        reader.readVariant("t", numbers_[key]);
    } else if (signature == "u") {
        std::uint32_t number = 0;
        reader.readVariant("u", number);
        numbers_[key] = number;
    } else if (signature == "b") {
        bool flag = false;
        reader.readVariant("b", flag);
        numbers_[key] = flag ? 1 : 0;
    } else if (signature == "au") {
        reader.readVariant("au", lists_[key]);
    } else {
        reader.skipVariant();
    }
}

std::string ReadVariants::text(const char* key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? std::string() : found->second;
}

std::vector<std::uint32_t> ReadVariants::list(const char* key) const {
    const auto found = lists_.find(key);
    return found == lists_.end() ? std::vector<std::uint32_t>() : found->second;
}

std::uint64_t ReadVariants::number(const char* key) const {
    const auto found = numbers_.find(key);
    return found == numbers_.end() ? 0 : found->second;
}

} // namespace genv::jobs
