// SPDX-License-Identifier: LGPL-2.1-or-later
// When a parked environment, which waits in the queue for its devices, is expected to go on.
#pragma once

#include "core/base/time.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/model/environment_id.hpp"
#include "core/ports/clock.hpp"
#include "core/queue/queue.hpp"

#include <functional>
#include <optional>

namespace genv::core {

/// Returns when an environment is expected to go on; nothing if that is not known.
using Comeback = std::function<std::optional<WallTime>(const EnvironmentId&)>;

/// Returns the expected start of the environment's request; nothing if it has none.
std::optional<WallTime> comebackOf(const Queue& queue, const LedgerView& ledger, const Clock& clock,
                                   const EnvironmentId& environment);

} // namespace genv::core
