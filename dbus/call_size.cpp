// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/call_size.hpp"

#include "core/caps.hpp"

#include <cstdint>
#include <cstring>

namespace genv::dbus {

namespace {

enum class Measured { Whole, TooMuch, Malformed };

Measured measureAll(sd_bus_message* message, CallSize& size);

Measured measureArray(sd_bus_message* message, char type, CallSize& size) {
    const void* values = nullptr;
    std::size_t bytes = 0;
    if (sd_bus_message_read_array(message, type, &values, &bytes) < 0)
        return Measured::Malformed;
    constexpr std::size_t widest = 8;
    size.bytes += bytes;
    size.values += bytes / (std::strchr("xtd", type) != nullptr  ? widest
                            : std::strchr("iu", type) != nullptr ? widest / 2
                                                                 : 1);
    return Measured::Whole;
}

Measured measureContainer(sd_bus_message* message, char type, const char* contents,
                          CallSize& size) {
    if (sd_bus_message_enter_container(message, type, contents) < 0)
        return Measured::Malformed;
    const Measured inside = measureAll(message, size);
    if (inside != Measured::Whole)
        return inside;
    return sd_bus_message_exit_container(message) < 0 ? Measured::Malformed : Measured::Whole;
}

Measured measureOne(sd_bus_message* message, char type, const char* contents, CallSize& size) {
    if (contents != nullptr) {
        // Arrays of numbers are not walked through.
        if (type == SD_BUS_TYPE_ARRAY && contents[1] == '\0' &&
            std::strchr("ynqiuxtd", contents[0]) != nullptr)
            return measureArray(message, contents[0], size);
        return measureContainer(message, type, contents, size);
    }
    union {
        const char* text;
        std::uint64_t number;
    } value{};
    if (sd_bus_message_read_basic(message, type, &value) < 0)
        return Measured::Malformed;
    const bool isText = std::strchr("sog", type) != nullptr;
    size.bytes += isText ? std::strlen(value.text) + 1 : sizeof(value.number);
    return Measured::Whole;
}

bool isTooLarge(const CallSize& size) {
    return size.values > core::caps::valuesPerCall || size.bytes > core::caps::bytesPerCall;
}

Measured measureAll(sd_bus_message* message, CallSize& size) {
    for (;;) {
        char type = 0;
        const char* contents = nullptr;
        const int more = sd_bus_message_peek_type(message, &type, &contents);
        if (more <= 0)
            return more == 0 ? Measured::Whole : Measured::Malformed;
        ++size.values;
        const Measured one = measureOne(message, type, contents, size);
        if (isTooLarge(size))
            return Measured::TooMuch;
        if (one != Measured::Whole)
            return one;
    }
}

} // namespace

CallSize measure(sd_bus_message* call) {
    CallSize size;
    const char* path = sd_bus_message_get_path(call);
    size.bytes = path != nullptr ? std::strlen(path) + 1 : 0;
    measureAll(call, size);
    sd_bus_message_rewind(call, 1);
    size.isTooLarge = isTooLarge(size);
    return size;
}

} // namespace genv::dbus
