// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/managed_objects.hpp"

#include "dbus/contract/names.hpp"

#include <cerrno>
#include <exception>
#include <utility>

namespace genv::dbus {

void ManagedObjectsWriter::writeBasic(char type, const void* value) {
    require(sd_bus_message_append_basic(answer_, type, value));
}

void ManagedObjectsWriter::open(char type, const char* contents) {
    require(sd_bus_message_open_container(answer_, type, contents));
}

void ManagedObjectsWriter::close() {
    require(sd_bus_message_close_container(answer_));
}

ManagedObjects::ManagedObjects(sdbus::IConnection& connection, WriteAll writeAll)
    : writeAll_(std::move(writeAll)) {
    sd_bus_slot* slot = nullptr;
    // sd-bus asks this handler before the interfaces that are registered on the path.
    require(sd_bus_add_object(busOf(connection), &slot, contract::managerPath, onMessage, this),
            std::string("cannot serve the object ") + contract::managerPath);
    slot_.reset(slot);
}

// sd-bus calls this, and nothing may be thrown through it. If this returns 0, sd-bus handles the
// message itself.
int ManagedObjects::onMessage(sd_bus_message* message, void* self, sd_bus_error* /*error*/) {
    if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.ObjectManager",
                                      "GetManagedObjects") <= 0 ||
        sd_bus_message_has_signature(message, "") <= 0)
        return 0;
    try {
        if (sd_bus_message_get_expect_reply(message) > 0)
            static_cast<const ManagedObjects*>(self)->answer(message);
        return 1;
    } catch (const std::exception&) {
        return -ENOMEM; // the caller is told so
    }
}

void ManagedObjects::answer(sd_bus_message* call) const {
    sd_bus_message* message = nullptr;
    require(sd_bus_message_new_method_return(call, &message));
    const OwnedMessage answer(message);
    require(sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{oa{sa{sv}}}"));
    ManagedObjectsWriter writer(message);
    writeAll_(writer);
    require(sd_bus_message_close_container(message));
    require(sd_bus_send(nullptr, message, nullptr));
}

} // namespace genv::dbus
