// SPDX-License-Identifier: LGPL-2.1-or-later
// When waiting requests are expected to start: from the leases of the holders, and where a holder
// has none, from how long its user's earlier environments lasted. Nothing depends on it: it is only
// shown.
#pragma once

#include "core/ledger/ledger_view.hpp"
#include "core/use/start_history.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace genv::core {

/// Returns the expected starts of these requests, which are in the order of the queue. A request
/// whose start depends on a holder of unknown length is left out.
std::map<std::uint64_t, BootTime> expectedStarts(const LedgerView& ledger,
                                                 const std::vector<std::uint64_t>& tickets,
                                                 const StartHistory& history, BootTime now,
                                                 std::chrono::microseconds keepFor);

} // namespace genv::core
