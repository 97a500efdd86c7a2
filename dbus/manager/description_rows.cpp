// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/description_rows.hpp"

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

void writeRows(raw::Writer& writer, const DescriptionRows& descriptions) {
    writer.array("a{sv}", [&] {
        for (const DescriptionRow& row : descriptions.rows)
            writer.array("{sv}", [&] { writeDescription(writer, row); });
    });
}

} // namespace genv::dbus
