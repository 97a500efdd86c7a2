// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/raw_bus.hpp"

#include "dbus/contract/names.hpp"
#include "dbus/raw_message.hpp"

#include <string>

namespace genv::dbus {

sd_bus* busOf(sdbus::IConnection& connection) {
    // sdbus-c++ keeps the bus to itself, but a message knows its bus.
    const auto object = sdbus::createObject(connection, contract::managerPath);
    return sd_bus_message_get_bus(
        RawMessage::of(object->createSignal(contract::busName, "QueueChanged")));
}

void require(int result, std::string_view whatFailed) {
    if (result < 0)
        throw sdbus::createError(-result, std::string(whatFailed));
}

} // namespace genv::dbus
