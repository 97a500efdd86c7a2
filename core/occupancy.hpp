// SPDX-License-Identifier: LGPL-2.1-or-later
// Tracks devices that are used by a process outside their environments. Users must not be warned
// about a process that is already gone. Therefore the GPUs are sampled again when an environment
// gives back a device that a process still uses, and before anybody gets a device that was in use
// in the last sample.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <functional>

namespace genv::core {

/// How long a request that gets such a device waits for a new sample.
inline constexpr std::chrono::milliseconds occupancySampleDeadline{500};

class Occupancy {
  public:
    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop. The observer's owner passes each observation to the ledger.
    Occupancy(const Ledger& ledger, Observer& observer, Scheduler& scheduler)
        : ledger_(ledger), observer_(observer), scheduler_(scheduler) {}

    /// Handles an event of the ledger.
    void onEvent(const Event& event);
    /// Samples the GPUs and then calls a function, never from within this function. If the driver
    /// does not answer before the deadline, the function is called with the previous sample in
    /// place.
    void sample(std::function<void()> function);

  private:
    const Ledger& ledger_;
    Observer& observer_;
    Scheduler& scheduler_;
    bool isSampling_ = false;
};

} // namespace genv::core
