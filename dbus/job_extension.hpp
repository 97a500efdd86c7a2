// SPDX-License-Identifier: LGPL-2.1-or-later
// Configure for a Slurm job: only its lifetime can be changed, and Slurm sets it.
#pragma once

#include "core/ledger.hpp"
#include "dbus/context.hpp"

namespace genv::dbus {

/// Carries out a call of Configure on a job's environment. The reply is sent once Slurm has set the
/// end. Throws core::Error(NotSupported) for any setting except a lifetime.
void extendJob(const Context& context, const Reply<>& reply, const core::Environment& environment,
               const core::ConfigurationChange& change);

} // namespace genv::dbus
