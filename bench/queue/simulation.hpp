// SPDX-License-Identifier: LGPL-2.1-or-later
// Replays a trace through the real ledger and queue, on a clock that jumps from event to event.
#pragma once

#include "bench/queue/trace.hpp"
#include "core/fair_order.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace genv::bench {

/// What a trace came to in one order.
struct SimulationResult {
    std::map<core::Uid, std::vector<std::chrono::seconds>> waits; ///< of each request
    std::chrono::seconds held{0};                                 ///< the sum over all GPUs
    std::chrono::seconds lasted{0};                               ///< until the last request ended
    /// GPUs that were free while requests waited.
    std::chrono::seconds idle{0};
    std::uint64_t overtakings = 0;
    std::uint32_t mostOvertaken = 0; ///< of one request
};

SimulationResult simulate(const Trace& trace, const core::OrderRules& rules);

} // namespace genv::bench
