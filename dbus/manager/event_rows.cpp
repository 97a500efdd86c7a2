// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/event_rows.hpp"

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

void writeRows(raw::Writer& writer, const EventRows& events) {
    writer.array("a{sv}", [&] {
        for (const core::HistoryRow& row : events.rows)
            writer.array("{sv}", [&] { writeRow(writer, row); });
    });
}

} // namespace genv::dbus
