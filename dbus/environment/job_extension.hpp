// SPDX-License-Identifier: LGPL-2.1-or-later
// Configure for a Slurm job: only its lifetime can be changed, and Slurm sets it.
#pragma once

#include "core/ledger/ledger.hpp"
#include "dbus/calls/bus_context.hpp"

namespace genv::dbus {

/// Carries out a call of Configure on a job's environment. The reply is sent once Slurm has set the
/// end. Throws core::Error(NotSupported) for any setting except a lifetime.
void extendJob(const BusContext& context, const Reply<>& reply,
               const core::EnvironmentRecord& environment,
               const core::EnvironmentConfigurationChange& change);

} // namespace genv::dbus
