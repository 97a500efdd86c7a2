// SPDX-License-Identifier: LGPL-2.1-or-later
// The processes in a reply to DescribeProcesses. They are written as aa{sv} in the same way as the
// events of dbus/manager/event_rows.hpp, since there may be ten thousand of them.
#pragma once

#include "dbus/calls/written_result.hpp"
#include "dbus/contract/raw_bus.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <cstdint>
#include <string>
#include <vector>

namespace genv::dbus {

/// A compute process, in D-Bus types.
struct DescriptionRow {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::string user;
    std::string environment;
    std::string name;
    /// Index, used memory, utilisation.
    std::vector<sdbus::Struct<std::uint32_t, std::uint64_t, std::uint32_t>> devices;
    std::uint64_t started = 0;
};

struct DescriptionRows {
    std::vector<DescriptionRow> rows;
};
void writeRows(raw::Writer& writer, const DescriptionRows& descriptions);

template <>
struct ResultOf<DescriptionRows> {
    using Type = WrittenResult<DescriptionRows>;
};

} // namespace genv::dbus
