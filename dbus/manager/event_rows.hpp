// SPDX-License-Identifier: LGPL-2.1-or-later
// The events in a reply to ListEvents. They are written as aa{sv} without a variant object for each
// value, since there may be a hundred thousand of them.
#pragma once

#include "core/ports/history.hpp"
#include "dbus/calls/written_result.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <vector>

namespace genv::dbus {

struct EventRows {
    std::vector<core::HistoryRow> rows;
};
void writeRows(raw::Writer& writer, const EventRows& events);

template <>
struct ResultOf<EventRows> {
    using Type = WrittenResult<EventRows>;
};

} // namespace genv::dbus
