// SPDX-License-Identifier: LGPL-2.1-or-later
// The call GetEnvironmentByPID: finds an environment by its root process or a descendant of it, or
// else by the cgroup of a Slurm job.
#pragma once

#include "dbus/calls/bus_context.hpp"

#include <sdbus-c++/sdbus-c++.h>

namespace genv::dbus {

/// Carries out a call. Throws core::Error for errors that are detected immediately.
void findEnvironment(const BusContext& context, const Reply<sdbus::ObjectPath>& reply,
                     core::Pid pid);

} // namespace genv::dbus
