// SPDX-License-Identifier: LGPL-2.1-or-later
// CancelWait: somebody ends a wait of the queue, maybe another user's.
#pragma once

#include "core/queue.hpp"
#include "dbus/context.hpp"

namespace genv::dbus {

/// Throws core::Error(NoSuchWait). `context` outlives the reply.
void cancelWait(const Context& context, const Reply<>& reply, core::Queue::Ticket ticket);

} // namespace genv::dbus
