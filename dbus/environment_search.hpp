// SPDX-License-Identifier: LGPL-2.1-or-later
// The call GetEnvironmentByPID: by a root process and its descendants, else by the control group of
// a Slurm job.
#pragma once

#include "dbus/context.hpp"

#include <sdbus-c++/sdbus-c++.h>

namespace genv::dbus {

/// Carries out a call. Throws core::Error for what is wrong at once.
void findEnvironment(const Context& context, const Reply<sdbus::ObjectPath>& reply, core::Pid pid);

} // namespace genv::dbus
