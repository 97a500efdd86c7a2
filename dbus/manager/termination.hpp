// SPDX-License-Identifier: LGPL-2.1-or-later
// The call TerminateProcess: identifies the process, asks whether the caller may end it, and ends
// it.
#pragma once

#include "dbus/calls/bus_context.hpp"

namespace genv::dbus {

/// Carries out a call of TerminateProcess. Throws core::Error for errors that are detected
/// immediately; later errors are sent through the reply.
void terminateProcess(const BusContext& context, const Reply<>& reply, core::Pid pid);

} // namespace genv::dbus
