// SPDX-License-Identifier: LGPL-2.1-or-later
// Activate for a Slurm job, which the prolog calls. A job has no process to wait for, and its
// devices are already chosen, so the steps differ from those of a normal Activate.
#pragma once

#include "dbus/manager/activation.hpp"

namespace genv::dbus {

/// Returns whether a call of Activate is about a job.
bool asksForJob(const VariantMap& options);

/// Carries out a call of Activate for a job. Throws core::Error for errors that are detected
/// immediately: if the caller is not root, or an option is not valid for jobs.
void activateJob(const BusContext& context, const ActivateReply& reply, VariantMap options);

} // namespace genv::dbus
