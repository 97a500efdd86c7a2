// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/objects_on_demand.hpp"

#include <fmt/format.h>

#include <utility>

namespace genv::dbus {

ObjectsOnDemand::ObjectsOnDemand(sdbus::IConnection& connection, const char* prefix,
                                 Register registerObject, List list) {
    const raw::Bus bus(connection);
    calls_ = bus.addFallback(
        prefix, [prefix = std::string(prefix),
                 registerObject = std::move(registerObject)](const raw::Message& call) {
            if (call.path() == prefix || registerObject(std::string(call.path())))
                return false;
            call.refuse("org.freedesktop.DBus.Error.UnknownObject",
                        fmt::format("Unknown object '{}'.", call.path()));
            return true;
        });
    enumerations_ = bus.addEnumerator(prefix, std::move(list));
}

} // namespace genv::dbus
