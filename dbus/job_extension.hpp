// SPDX-License-Identifier: LGPL-2.1-or-later
// Configure for a Slurm job: only its lifetime may be configured, and Slurm sets it.
#pragma once

#include "core/ledger.hpp"
#include "dbus/context.hpp"

namespace genv::dbus {

/// Carries out a call of Configure on a job's environment. It is answered once Slurm has set the
/// end. Throws core::Error(NotSupported) for anything but a lifetime.
void extendJob(const Context& context, const Reply<>& reply, const core::Environment& environment,
               const core::ConfigurationChange& change);

} // namespace genv::dbus
