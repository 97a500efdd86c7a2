// SPDX-License-Identifier: LGPL-2.1-or-later
// This header reaches the sd_bus(3) of a connection of sdbus-c++, for what sdbus-c++ 1 does not
// offer, and owns the messages and slots of sd-bus.
#pragma once

#include <sdbus-c++/sdbus-c++.h>
#include <systemd/sd-bus.h>

#include <memory>
#include <string_view>

namespace genv::dbus {

/// Returns the bus of a connection, which keeps it: it is valid for as long as the connection.
sd_bus* busOf(sdbus::IConnection& connection);

/// Throws sdbus::Error where the result of a function of sd-bus is a failure. Its message says what
/// failed, in the words that are given.
void require(int result, std::string_view whatFailed = "sd-bus failed");

struct Unreference {
    void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
    void operator()(sd_bus_slot* slot) const { sd_bus_slot_unref(slot); }
};

using OwnedMessage = std::unique_ptr<sd_bus_message, Unreference>;
/// A registration with the bus ends with its slot.
using OwnedSlot = std::unique_ptr<sd_bus_slot, Unreference>;

} // namespace genv::dbus
