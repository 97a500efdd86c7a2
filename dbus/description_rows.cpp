// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/description_rows.hpp"

#include "dbus/contract/raw_bus.hpp"

namespace genv::dbus {

namespace {

void writeDescription(raw::Writer& writer, const DescriptionRow& row) {
    writer.property("pid", row.pid);
    writer.property("uid", row.uid);
    writer.property("user", row.user);
    writer.property("environment", row.environment);
    writer.property("name", row.name);
    writer.property("devices", row.devices);
    writer.property("started", row.started);
}

} // namespace

sdbus::Message& operator<<(sdbus::Message& message, const DescriptionRows& descriptions) {
    raw::Writer writer(message);
    writer.array("a{sv}", [&] {
        for (const DescriptionRow& row : descriptions.rows)
            writer.array("{sv}", [&] { writeDescription(writer, row); });
    });
    return message;
}

} // namespace genv::dbus
