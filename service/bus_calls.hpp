// SPDX-License-Identifier: LGPL-2.1-or-later
// The connections to the bus, and the calls that are still waiting for a reply.
#pragma once

#include "core/settings/caps.hpp"
#include "dbus/calls/call_places.hpp"
#include "dbus/calls/callers.hpp"
#include "dbus/calls/gate.hpp"
#include "dbus/calls/waiting_calls.hpp"
#include "policy/polkit_authorizer.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <memory>

namespace genv::service {

/// Each object that replies to a call later keeps that call's message. The message belongs to this
/// connection and is counted here, so such an object must be destroyed before this one.
struct BusCalls {
    /// Stops replying to calls because the service is ending. The bus reports a missing reply to
    /// the callers, and they call again. Calls that wait in the queue or for a lock keep their
    /// places.
    void giveUp() {
        isEnding = true;
        waitingCalls.giveUp();
    }

    bool isEnding = false;
    std::unique_ptr<sdbus::IConnection> connection = sdbus::createSystemBusConnection();
    /// For questions about callers. It owns no name, so a flood of calls does not delay its
    /// replies.
    std::unique_ptr<sdbus::IConnection> questions = sdbus::createSystemBusConnection();
    dbus::Callers callers;
    dbus::CallPlaces listCalls{core::caps::listCallsPerUser,
                               "wait for the GPUs, processes or history"};
    dbus::CallPlaces startingCalls{core::caps::startingCallsPerUser,
                                   "wait until their process is read"};
    dbus::WaitingCalls waitingCalls;
    policy::PolkitAuthorizer authorizer;
    dbus::Gate gate{authorizer};
};

} // namespace genv::service
