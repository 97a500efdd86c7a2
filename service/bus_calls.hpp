// SPDX-License-Identifier: LGPL-2.1-or-later
// The connection to the bus, and calls that came over it and have no answer yet.
#pragma once

#include "dbus/callers.hpp"
#include "dbus/gate.hpp"
#include "dbus/list_calls.hpp"
#include "dbus/waiting_calls.hpp"
#include "policy/polkit_authorizer.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <memory>

namespace genv::service {

/// Whatever answers a call later keeps the call: a message of this connection, counted here. So it
/// is destroyed before this.
struct BusCalls {
    /// Answers no call any more, since the service ends. The bus tells callers that there is no
    /// reply, and they call again. Calls that wait in the queue or for a lock keep their places.
    void giveUp() {
        isEnding = true;
        waitingCalls.giveUp();
    }

    bool isEnding = false;
    std::unique_ptr<sdbus::IConnection> connection = sdbus::createSystemBusConnection();
    dbus::Callers callers;
    dbus::ListCalls listCalls;
    dbus::WaitingCalls waitingCalls;
    policy::PolkitAuthorizer authorizer;
    dbus::Gate gate{authorizer};
};

} // namespace genv::service
