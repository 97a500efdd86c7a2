// SPDX-License-Identifier: LGPL-2.1-or-later
// The events in a reply to ListEvents. They are written as aa{sv} without a variant object for each
// value, since there may be a hundred thousand of them. sdbus-c++ accepts such a type like its own.
// sdbus-c++-xml2cpp does not know it, so the build inserts it into the adaptor
// (dbus/CMakeLists.txt).
#pragma once

#include "core/ports/history.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <string>
#include <vector>

namespace genv::dbus {

struct EventRows {
    std::vector<core::HistoryRow> rows;
};
sdbus::Message& operator<<(sdbus::Message& message, const EventRows& events);

} // namespace genv::dbus

template <>
struct sdbus::signature_of<genv::dbus::EventRows>
    : sdbus::signature_of<std::vector<std::map<std::string, sdbus::Variant>>> {};
