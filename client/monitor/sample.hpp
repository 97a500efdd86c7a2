// SPDX-License-Identifier: LGPL-2.1-or-later
// What the service said at one moment, which is all that a scrape reads. A sample never changes
// once it is made, so any number of threads may read it.
#pragma once

#include "genv/types.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genv::monitor {

/// The answers of the service to the three calls of a sample.
struct ServiceState {
    Overview overview;
    std::vector<ComputeProcess> processes;
    std::vector<QueueEntry> queue;
};

struct Sample {
    std::optional<ServiceState> state; ///< unset: the service did not answer, or there is none
    std::chrono::steady_clock::time_point begun;
    std::chrono::duration<double> took{};
};

/// What grows as long as the exporter runs.
struct Counters {
    std::map<std::pair<std::string, std::string>, std::uint64_t> actions; ///< by action and reason
    std::uint64_t errors = 0; ///< samples that failed though the service was there
};

} // namespace genv::monitor
