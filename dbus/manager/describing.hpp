// SPDX-License-Identifier: LGPL-2.1-or-later
// DescribeProcesses: takes a new sample, then looks up the names of the processes' users.
#pragma once

#include "dbus/calls/bus_context.hpp"
#include "dbus/manager/description_rows.hpp"

namespace genv::dbus {

/// Returns the compute processes of a sample, without the names of their users.
DescriptionRows describe(const core::Observation& observation, const core::LedgerView& ledger,
                         const core::Clock& clock);

/// Replies with the compute processes of a new sample. Throws core::Error(LimitsExceeded).
void describeProcesses(const BusContext& context, const Reply<DescriptionRows>& reply);

} // namespace genv::dbus
