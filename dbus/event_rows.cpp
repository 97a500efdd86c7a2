// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/event_rows.hpp"

#include "dbus/contract/raw_bus.hpp"

#include <variant>

namespace genv::dbus {

namespace {

void writeRow(raw::Writer& writer, const core::HistoryRow& row) {
    writer.property("cursor", row.cursor);
    writer.property("time", core::toMicroseconds(row.time));
    writer.property("kind", std::string(row.kind));
    writer.property("message", row.message);
    for (const auto& [key, value] : row.details)
        std::visit([&, &name = key](const auto& held) { writer.property(std::string(name), held); },
                   value);
}

} // namespace

sdbus::Message& operator<<(sdbus::Message& message, const EventRows& events) {
    raw::Writer writer(message);
    writer.array("a{sv}", [&] {
        for (const core::HistoryRow& row : events.rows)
            writer.array("{sv}", [&] { writeRow(writer, row); });
    });
    return message;
}

} // namespace genv::dbus
