// SPDX-License-Identifier: LGPL-2.1-or-later
// The reply of DescribeQueue: the waiting requests, with the reasons of their waits.
#pragma once

#include "core/ledger/ledger_view.hpp"
#include "core/ports/clock.hpp"
#include "core/queue/lending.hpp"
#include "core/queue/queue.hpp"
#include "dbus/calls/call_options.hpp"

#include <vector>

namespace genv::dbus {

/// `order`: the order in force.
std::vector<VariantMap> queueDescriptions(const core::Queue& queue, const core::LedgerView& ledger,
                                          const core::Lending& lending, const core::Clock& clock,
                                          core::QueueOrder order);

} // namespace genv::dbus
