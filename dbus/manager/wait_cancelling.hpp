// SPDX-License-Identifier: LGPL-2.1-or-later
// CancelWait: ends a wait in the queue, possibly another user's.
#pragma once

#include "core/queue/queue.hpp"
#include "dbus/calls/bus_context.hpp"

namespace genv::dbus {

/// Carries out a call of CancelWait. Throws core::Error(NoSuchWait). `context` must outlive the
/// reply.
void cancelWait(const BusContext& context, const Reply<>& reply, core::Queue::Ticket ticket);

} // namespace genv::dbus
