// SPDX-License-Identifier: LGPL-2.1-or-later
// The call Configure: changes the configuration of an environment within its owner's limits, or
// above them if approved.
#pragma once

#include "dbus/calls/bus_context.hpp"

namespace genv::dbus {

/// Carries out a call of Configure on an existing environment. Throws core::Error for errors that
/// are detected immediately.
void configure(const BusContext& context, const Reply<>& reply,
               const core::EnvironmentRecord& environment,
               const core::EnvironmentConfigurationChange& change);

} // namespace genv::dbus
