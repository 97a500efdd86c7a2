// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/variants.hpp"

#include "client/loop.hpp"

#include <cstring>
#include <string_view>
#include <vector>

namespace genv::jobs {

namespace {

using event::check;

constexpr const char* what = "a dictionary";

void appendTexts(sd_bus_message* message, const std::vector<std::string>& texts) {
    check(sd_bus_message_open_container(message, 'a', "s"), what);
    for (const std::string& text : texts)
        check(sd_bus_message_append(message, "s", text.c_str()), what);
    check(sd_bus_message_close_container(message), what);
}

void appendNumbers(sd_bus_message* message, const std::vector<std::uint32_t>& numbers) {
    check(sd_bus_message_append_array(message, 'u', numbers.data(),
                                      numbers.size() * sizeof(std::uint32_t)),
          what);
}

void appendValue(sd_bus_message* message, const sdbus::Variant& value) {
    const std::string type = value.peekValueType();
    check(sd_bus_message_open_container(message, 'v', type.c_str()), what);
    if (type == "s")
        check(sd_bus_message_append(message, "s", value.get<std::string>().c_str()), what);
    else if (type == "u")
        check(sd_bus_message_append(message, "u", value.get<std::uint32_t>()), what);
    else if (type == "i")
        check(sd_bus_message_append(message, "i", value.get<std::int32_t>()), what);
    else if (type == "t")
        check(sd_bus_message_append(message, "t", value.get<std::uint64_t>()), what);
    else if (type == "b")
        check(sd_bus_message_append(message, "b", value.get<bool>() ? 1 : 0), what);
    else if (type == "au")
        appendNumbers(message, value.get<std::vector<std::uint32_t>>());
    else
        appendTexts(message, value.get<std::vector<std::string>>());
    check(sd_bus_message_close_container(message), what);
}

std::vector<std::uint32_t> readNumbers(sd_bus_message* message) {
    const void* numbers = nullptr;
    std::size_t bytes = 0;
    check(sd_bus_message_enter_container(message, 'v', "au"), what);
    check(sd_bus_message_read_array(message, 'u', &numbers, &bytes), what);
    check(sd_bus_message_exit_container(message), what);
    const auto* const first = static_cast<const std::uint32_t*>(numbers);
    return {first, first + bytes / sizeof(std::uint32_t)};
}

} // namespace

void appendEntries(sd_bus_message* message, const Dictionary& values) {
    for (const auto& [name, value] : values) {
        check(sd_bus_message_open_container(message, 'e', "sv"), what);
        check(sd_bus_message_append(message, "s", name.c_str()), what);
        appendValue(message, value);
        check(sd_bus_message_close_container(message), what);
    }
}

ReadVariants::ReadVariants(sd_bus_message* message) {
    check(sd_bus_message_enter_container(message, 'a', "{sv}"), what);
    while (check(sd_bus_message_enter_container(message, 'e', "sv"), what) > 0) {
        const char* key = nullptr;
        check(sd_bus_message_read(message, "s", &key), what);
        readValue(message, key);
        check(sd_bus_message_exit_container(message), what);
    }
    check(sd_bus_message_exit_container(message), what);
}

void ReadVariants::readValue(sd_bus_message* message, const char* key) {
    const char* type = nullptr;
    check(sd_bus_message_peek_type(message, nullptr, &type), what);
    const std::string_view signature = type != nullptr ? type : "";
    if (signature == "s") {
        const char* text = nullptr;
        check(sd_bus_message_read(message, "v", "s", &text), what);
        texts_[key] = text;
    } else if (signature == "t") {
        check(sd_bus_message_read(message, "v", "t", &numbers_[key]), what);
    } else if (signature == "u") {
        std::uint32_t number = 0;
        check(sd_bus_message_read(message, "v", "u", &number), what);
        numbers_[key] = number;
    } else if (signature == "b") {
        int flag = 0;
        check(sd_bus_message_read(message, "v", "b", &flag), what);
        numbers_[key] = flag != 0 ? 1 : 0;
    } else if (signature == "au") {
        lists_[key] = readNumbers(message);
    } else {
        check(sd_bus_message_skip(message, "v"), what);
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
