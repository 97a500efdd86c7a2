// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers GetManagedObjects of org.freedesktop.DBus.ObjectManager. sd-bus answers it as well, but
// takes twice as long where there are thousands: it looks every object up by its path and each of
// its properties by name, and lists the three standard interfaces of each. Everything else of an
// object manager is left to sd-bus.
#pragma once

#include "dbus/raw_bus.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace genv::dbus {

/// Writes the objects into an answer. Throws sdbus::Error when it finds no memory.
class ManagedObjectsWriter {
  public:
    /// The answer outlives this.
    explicit ManagedObjectsWriter(sd_bus_message* answer) : answer_(answer) {}

    /// An object with its one interface, whose properties `Properties` (dbus/properties.hpp) reads.
    template <typename Properties, typename Object>
    void write(const char* interface, Object& object) {
        open(SD_BUS_TYPE_DICT_ENTRY, "oa{sa{sv}}");
        writeBasic(SD_BUS_TYPE_OBJECT_PATH, object.getObject().getObjectPath().c_str());
        open(SD_BUS_TYPE_ARRAY, "{sa{sv}}");
        open(SD_BUS_TYPE_DICT_ENTRY, "sa{sv}");
        writeBasic(SD_BUS_TYPE_STRING, interface);
        open(SD_BUS_TYPE_ARRAY, "{sv}");
        Properties::visit(object, [this](const char* name, const auto& value) {
            open(SD_BUS_TYPE_DICT_ENTRY, "sv");
            writeBasic(SD_BUS_TYPE_STRING, name);
            open(SD_BUS_TYPE_VARIANT, signatureOf(value).c_str());
            writeValue(value);
            close();
            close();
        });
        for (int level = 0; level < 4; ++level)
            close();
    }

  private:
    template <typename Value>
    static std::string signatureOf(const Value& /*value*/) {
        return sdbus::signature_of<Value>::str();
    }

    void writeValue(const std::string& value) { writeBasic(SD_BUS_TYPE_STRING, value.c_str()); }
    void writeValue(bool value) {
        const int asInt = value ? 1 : 0; // as sd-bus takes it
        writeBasic(SD_BUS_TYPE_BOOLEAN, &asInt);
    }
    void writeValue(std::uint32_t value) { writeBasic(SD_BUS_TYPE_UINT32, &value); }
    void writeValue(std::int32_t value) { writeBasic(SD_BUS_TYPE_INT32, &value); }
    void writeValue(std::uint64_t value) { writeBasic(SD_BUS_TYPE_UINT64, &value); }
    template <typename Value>
    void writeValue(const std::vector<Value>& values) {
        open(SD_BUS_TYPE_ARRAY, sdbus::signature_of<Value>::str().c_str());
        for (const Value& value : values)
            writeValue(value);
        close();
    }
    template <typename... Values>
    void writeValue(const sdbus::Struct<Values...>& row) {
        open(SD_BUS_TYPE_STRUCT, (sdbus::signature_of<Values>::str() + ...).c_str());
        const std::tuple<Values...>& values = row;
        std::apply([this](const Values&... value) { (writeValue(value), ...); }, values);
        close();
    }

    void writeBasic(char type, const void* value);
    void open(char type, const char* contents);
    void close();

    sd_bus_message* answer_;
};

class ManagedObjects {
  public:
    using WriteAll = std::function<void(ManagedObjectsWriter&)>;

    /// From now on the calls of the connection's object manager are answered with what `writeAll`
    /// writes. The connection outlives this.
    ManagedObjects(sdbus::IConnection& connection, WriteAll writeAll);

  private:
    static int onMessage(sd_bus_message* message, void* self, sd_bus_error* error);
    void answer(sd_bus_message* call) const;

    WriteAll writeAll_;
    OwnedSlot slot_; ///< last: nothing comes in once it is gone
};

} // namespace genv::dbus
