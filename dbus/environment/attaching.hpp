// SPDX-License-Identifier: LGPL-2.1-or-later
// The call Attach: reads the request, checks that the caller is authorized, and grants the devices,
// either now or after a wait in the queue.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/call_options.hpp"

#include <cstdint>
#include <vector>

namespace genv::dbus {

using AttachReply = Reply<std::vector<std::uint32_t>>;

/// Carries out a call of Attach on an existing environment. Throws core::Error for errors that are
/// detected immediately.
void attach(const BusContext& context, const AttachReply& reply,
            const core::EnvironmentRecord& environment, VariantMap options);

} // namespace genv::dbus
