// SPDX-License-Identifier: LGPL-2.1-or-later
// DescribeProcesses: takes a new sample, then looks up the names of the processes' users.
#pragma once

#include "dbus/context.hpp"
#include "dbus/description_rows.hpp"

namespace genv::dbus {

/// Returns the compute processes of a sample, without the names of their users.
DescriptionRows describe(const core::Observation& observation, const core::Ledger& ledger,
                         const core::Clock& clock);

/// Replies with the compute processes of a new sample. Throws core::Error(LimitsExceeded).
void describeProcesses(const Context& context, const Reply<DescriptionRows>& reply);

} // namespace genv::dbus
