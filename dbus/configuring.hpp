// SPDX-License-Identifier: LGPL-2.1-or-later
// The call Configure: changes an environment's configuration within its owner's limits, or over
// them with consent.
#pragma once

#include "dbus/context.hpp"

namespace genv::dbus {

/// Carries out a call of Configure on an environment that exists. Throws core::Error for what is
/// wrong at once.
void configure(const Context& context, const Reply<>& reply, const core::Environment& environment,
               const core::ConfigurationChange& change);

} // namespace genv::dbus
