// SPDX-License-Identifier: LGPL-2.1-or-later
// Replays a trace through the real ledger, queue and parking, on a clock that jumps from event to
// event.
#pragma once

#include "bench/queue/trace.hpp"
#include "core/placement/fair_order.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace genv::bench {

/// The settings that a trace is replayed under.
struct SimulationRules {
    core::QueueOrder order = core::QueueOrder::Fifo;
    /// How many GPUs a user may hold, or as many as the user's largest request needs. Unset: all.
    std::optional<std::uint32_t> quota = {};
    bool loans = false; ///< requests that can be parked are preemptible, beyond the quota
};

/// How long a request did not have its GPUs.
struct WaitingTime {
    std::chrono::seconds beforeStart{0};
    std::chrono::seconds parked{0};
    bool canBeParked = false;

    [[nodiscard]] std::chrono::seconds sum() const { return beforeStart + parked; }
};

/// What a trace came to.
struct SimulationResult {
    std::map<core::Uid, std::vector<WaitingTime>> waits; ///< of each request
    std::chrono::seconds held{0};                        ///< the sum over all GPUs
    std::chrono::seconds lasted{0};                      ///< until the last request ended
    /// GPUs that were free while requests waited, those that wait to go on included.
    std::chrono::seconds idle{0};
    std::uint64_t overtakings = 0;
    std::uint32_t mostOvertaken = 0; ///< of one request
    std::uint64_t parks = 0;
    std::uint64_t failedParks = 0;
    core::Bytes moved;      ///< to host memory
    core::Bytes mostParked; ///< at once
    std::chrono::seconds longestParked{0};
};

SimulationResult simulate(const Trace& trace, const SimulationRules& rules);

} // namespace genv::bench
