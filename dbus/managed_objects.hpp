// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers GetManagedObjects of org.freedesktop.DBus.ObjectManager. sd-bus answers it as well, but
// takes twice as long where there are thousands: it looks every object up by its path and each of
// its properties by name, and lists the three standard interfaces of each. Everything else of an
// object manager is left to sd-bus.
#pragma once

#include "dbus/contract/raw_bus.hpp"

#include <functional>

namespace genv::dbus {

/// Writes the objects into an answer. Throws sdbus::Error when it finds no memory.
class ManagedObjectsWriter {
  public:
    /// The answer outlives this.
    explicit ManagedObjectsWriter(raw::Writer& answer) : answer_(answer) {}

    /// An object with its one interface, whose properties `Properties` (dbus/properties.hpp) reads.
    template <typename Properties, typename Object>
    void write(const char* interface, Object& object) {
        answer_.entry("oa{sa{sv}}", [&] {
            answer_.writePath(object.getObject().getObjectPath());
            answer_.array("{sa{sv}}", [&] { writeInterface<Properties>(interface, object); });
        });
    }

  private:
    template <typename Properties, typename Object>
    void writeInterface(const char* interface, Object& object) {
        answer_.entry("sa{sv}", [&] {
            answer_.write(interface);
            answer_.array("{sv}", [&] { writeProperties<Properties>(object); });
        });
    }
    template <typename Properties, typename Object>
    void writeProperties(Object& object) {
        Properties::visit(
            object, [this](const char* name, const auto& value) { answer_.property(name, value); });
    }

    raw::Writer& answer_;
};

class ManagedObjects {
  public:
    using WriteAll = std::function<void(ManagedObjectsWriter&)>;

    /// From now on the calls of the connection's object manager are answered with what `writeAll`
    /// writes. The connection outlives this.
    ManagedObjects(sdbus::IConnection& connection, WriteAll writeAll);

  private:
    raw::Slot slot_;
};

} // namespace genv::dbus
