// SPDX-License-Identifier: LGPL-2.1-or-later
// The call TerminateProcess: sees which process it is, asks whether the caller may end it, and has
// it ended.
#pragma once

#include "dbus/context.hpp"

namespace genv::dbus {

/// Carries out a call of TerminateProcess. Throws core::Error for what is wrong at once; the rest
/// goes through the reply.
void terminateProcess(const Context& context, const Reply<>& reply, core::Pid pid);

} // namespace genv::dbus
