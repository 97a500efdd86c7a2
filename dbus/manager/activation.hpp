// SPDX-License-Identifier: LGPL-2.1-or-later
// The steps of Activate: read the options, pin the process (or find the Jupyter kernel), look up
// the owner's name, and start or join an environment behind the gate.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/call_options.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <string>

namespace genv::dbus {

using ActivateReply = Reply<std::string, sdbus::ObjectPath>;

/// Carries out a call of Activate. Throws core::Error for errors that are detected immediately;
/// later errors are sent through the reply.
void activate(const BusContext& context, const ActivateReply& reply, VariantMap options);

} // namespace genv::dbus
