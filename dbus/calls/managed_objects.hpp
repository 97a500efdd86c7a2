// SPDX-License-Identifier: LGPL-2.1-or-later
// Replies to GetManagedObjects of org.freedesktop.DBus.ObjectManager. sd-bus implements it as well,
// but takes twice as long with thousands of objects: it looks up every object by path and each
// property by name, and lists the three standard interfaces of each object. All other parts of the
// object manager are left to sd-bus.
#pragma once

#include "dbus/contract/raw_bus.hpp"

#include <functional>
#include <string>

namespace genv::dbus {

/// Writes the objects into a reply. Throws sdbus::Error if memory runs out.
class ManagedObjectsWriter {
  public:
    /// The reply must outlive this object.
    explicit ManagedObjectsWriter(raw::Writer& answer) : answer_(answer) {}

    /// Writes an object with its one interface; `Properties` (dbus/properties.hpp) reads the
    /// properties from `object`.
    template <typename Properties, typename Object>
    void write(const std::string& path, const char* interface, Object& object) {
        answer_.entry("oa{sa{sv}}", [&] {
            answer_.writePath(path);
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

    /// Replies to the calls of the connection's object manager with the output of `writeAll` from
    /// now on. The connection must outlive this object.
    ManagedObjects(sdbus::IConnection& connection, WriteAll writeAll);

  private:
    raw::Slot slot_;
};

} // namespace genv::dbus
