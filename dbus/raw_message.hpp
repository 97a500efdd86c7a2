// SPDX-License-Identifier: LGPL-2.1-or-later
// The sd_bus_message(3) of a message of sdbus-c++, for what sdbus-c++ 1 does not offer.
#pragma once

#include <sdbus-c++/sdbus-c++.h>
#include <systemd/sd-bus.h>

namespace genv::dbus {

/// sdbus-c++ keeps the message to itself; a derived class may name the member of its base.
struct RawMessage : sdbus::Message {
    /// Borrowed: valid for as long as the message.
    static sd_bus_message* of(const sdbus::Message& message) {
        return static_cast<sd_bus_message*>(message.*(&RawMessage::msg_));
    }
};

} // namespace genv::dbus
