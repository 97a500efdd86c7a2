// SPDX-License-Identifier: LGPL-2.1-or-later
// The reply of DescribeQueue: the waiting requests, with the reasons of their waits.
#pragma once

#include "core/ledger.hpp"
#include "core/ports/clock.hpp"
#include "core/queue.hpp"
#include "dbus/options.hpp"

#include <vector>

namespace genv::dbus {

/// `order`: the order in force.
std::vector<VariantMap> queueDescriptions(const core::Queue& queue, const core::Ledger& ledger,
                                          const core::Clock& clock, core::QueueOrder order);

} // namespace genv::dbus
