// SPDX-License-Identifier: LGPL-2.1-or-later
// The handlers of Park and Resume: both end when the processes of the environment stand still, or
// go on.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/call_options.hpp"

#include <vector>

namespace genv::dbus {

using ParkReply = Reply<>;
using ResumeReply = Reply<std::vector<uint32_t>>;

/// Parks an environment, if the caller may manage it.
void park(const BusContext& context, const ParkReply& reply,
          const core::EnvironmentRecord& environment, VariantMap options);

/// Requests the devices of a parked environment, and lets its processes go on.
void resume(const BusContext& context, const ResumeReply& reply,
            const core::EnvironmentRecord& environment, VariantMap options);

/// Returns the word of the property State.
const char* stateOf(const core::EnvironmentRecord& environment);

} // namespace genv::dbus
