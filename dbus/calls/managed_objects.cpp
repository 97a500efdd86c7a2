// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/managed_objects.hpp"

#include "dbus/contract/names.hpp"

#include <utility>

namespace genv::dbus {

namespace {

bool answer(const raw::Message& call, const ManagedObjects::WriteAll& writeAll) {
    if (!call.calls("org.freedesktop.DBus.ObjectManager", "GetManagedObjects", ""))
        return false; // handled by sd-bus
    if (call.expectsReply())
        call.reply([&](raw::Writer& reply) {
            reply.array("{oa{sa{sv}}}", [&] {
                ManagedObjectsWriter objects(reply);
                writeAll(objects);
            });
        });
    return true;
}

} // namespace

ManagedObjects::ManagedObjects(sdbus::IConnection& connection, WriteAll writeAll)
    : slot_(raw::Bus(connection)
                .addObject(contract::managerPath,
                           [writeAll = std::move(writeAll)](const raw::Message& call) {
                               return answer(call, writeAll);
                           })) {}

} // namespace genv::dbus
