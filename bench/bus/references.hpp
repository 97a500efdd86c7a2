// SPDX-License-Identifier: LGPL-2.1-or-later
// The references for other measurements.
#pragma once

#include "bench/bus/operations.hpp"

namespace genv::bench {

/// The cheapest call of the service.
inline Operation ping(tests::Client& client) {
    return callOf("Peer.Ping", client, tests::managerPath, "org.freedesktop.DBus.Peer", "Ping");
}

/// A round trip without the service. It serves to compare two services that cannot run at once.
inline Operation callOfTheBus(tests::Client& client) {
    return {"GetId of the bus", {{&client, [&client](const Turn&) {
                                      return client.newCall("org.freedesktop.DBus",
                                                            "/org/freedesktop/DBus",
                                                            "org.freedesktop.DBus", "GetId");
                                  }}}};
}

} // namespace genv::bench
