// SPDX-License-Identifier: LGPL-2.1-or-later
// The sd_bus_message of a message of sdbus-c++, for raw_bus.cpp and raw_values.cpp only.
#pragma once

#include <sdbus-c++/sdbus-c++.h>
#include <systemd/sd-bus.h>

namespace genv::dbus::raw {

// Accesses the protected member of its base class.
struct Opened : sdbus::Message {
    static sd_bus_message* get(const sdbus::Message& message) {
        return static_cast<sd_bus_message*>(message.*(&Opened::msg_));
    }
};

inline sd_bus_message* sdMessageOf(const sdbus::Message& message) {
    return Opened::get(message);
}

/// Throws sdbus::Error if a function of sd-bus failed.
inline void require(int result, const char* what) {
    if (result < 0)
        throw sdbus::createError(-result, what);
}

} // namespace genv::dbus::raw
