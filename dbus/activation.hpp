// SPDX-License-Identifier: LGPL-2.1-or-later
// Activate, step by step: read the options, pin the process (or find the kernel), learn the owner's
// name, and then start an environment or join one, behind the gate.
#pragma once

#include "dbus/context.hpp"
#include "dbus/options.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <string>

namespace genv::dbus {

using ActivateReply = Reply<std::string, sdbus::ObjectPath>;

/// Carries out a call of Activate. Throws core::Error for what is wrong at once; the rest goes
/// through the reply.
void activate(const Context& context, const ActivateReply& reply, VariantMap options);

} // namespace genv::dbus
