// SPDX-License-Identifier: LGPL-2.1-or-later
// What other times are compared with.
#pragma once

#include "bench/bus/operations.hpp"

namespace genv::bench {

/// The least that a call of the service can be.
inline Operation ping(tests::Client& client) {
    return callOf("Peer.Ping", client, tests::managerPath, "org.freedesktop.DBus.Peer", "Ping");
}

/// A round trip that the service takes no part in, by which two services are compared that cannot
/// run at once.
inline Operation callOfTheBus(tests::Client& client) {
    return {"GetId of the bus", {{&client, [&client](const Turn&) {
                                      return client.newCall("org.freedesktop.DBus",
                                                            "/org/freedesktop/DBus",
                                                            "org.freedesktop.DBus", "GetId");
                                  }}}};
}

} // namespace genv::bench
