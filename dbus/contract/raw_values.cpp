// SPDX-License-Identifier: LGPL-2.1-or-later
// The values in messages: Writer and Reader of raw_bus.hpp.
#include "dbus/contract/raw_bus.hpp"
#include "dbus/contract/sd_message.hpp"

#include <cerrno>

namespace genv::dbus::raw {

namespace {

// For functions that return 0 where the message has nothing left to read.
void requireRead(int result) {
    require(result == 0 ? -ENXIO : result, "a message cannot be read");
}

} // namespace

Writer::Writer(sdbus::Message& message) : message_(sdMessageOf(message)) {}

void Writer::write(bool value) {
    const int asInt = value ? 1 : 0; // sd-bus expects an int
    writeBasic('b', &asInt);
}

void Writer::writeBytes(std::string_view bytes) {
    require(sd_bus_message_append_array(message_, 'y', bytes.data(), bytes.size()),
            "a message cannot be written");
}

void Writer::writeBasic(char type, const void* value) {
    require(sd_bus_message_append_basic(message_, type, value), "a message cannot be written");
}

void Writer::open(char type, const char* signature) {
    require(sd_bus_message_open_container(message_, type, signature),
            "a message cannot be written");
}

void Writer::close() {
    require(sd_bus_message_close_container(message_), "a message cannot be written");
}

Reader::Reader(const sdbus::Message& message) : message_(sdMessageOf(message)) {}

void Reader::read(bool& value) {
    int asInt = 0; // sd-bus writes an int
    readBasic('b', &asInt);
    value = asInt != 0;
}

void Reader::readBytes(std::string& bytes) {
    const void* first = nullptr;
    std::size_t size = 0;
    requireRead(sd_bus_message_read_array(message_, 'y', &first, &size));
    bytes.assign(static_cast<const char*>(first), size);
}

const char* Reader::readText(char type) {
    const char* text = nullptr;
    readBasic(type, &text);
    return text;
}

std::string_view Reader::variantSignature() {
    char type = 0;
    const char* contents = nullptr;
    requireRead(sd_bus_message_peek_type(message_, &type, &contents));
    requireRead(type == 'v' ? 1 : -ENXIO);
    return contents;
}

void Reader::skipVariant() {
    requireRead(sd_bus_message_skip(message_, "v"));
}

void Reader::readBasic(char type, void* value) {
    requireRead(sd_bus_message_read_basic(message_, type, value));
}

void Reader::enter(char type, const char* signature) {
    requireRead(sd_bus_message_enter_container(message_, type, signature));
}

void Reader::leave() {
    requireRead(sd_bus_message_exit_container(message_));
}

bool Reader::isAtEnd() {
    const int result = sd_bus_message_at_end(message_, 0);
    require(result, "a message cannot be read");
    return result > 0;
}

} // namespace genv::dbus::raw
