// SPDX-License-Identifier: LGPL-2.1-or-later
// Activate for a Slurm job: what the prolog asks for. It has no process of its own to wait for, and
// its devices are given already, so it is another call than anybody else's Activate.
#pragma once

#include "dbus/activation.hpp"

namespace genv::dbus {

/// Whether a call of Activate is about a job.
bool asksForJob(const VariantMap& options);

/// Carries out a call of Activate for a job. Throws core::Error for what is wrong at once: anybody
/// but root asks, or an option is none of a job's.
void activateJob(const Context& context, const ActivateReply& reply, VariantMap options);

} // namespace genv::dbus
