// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that a process outside their environments uses. Nobody shall be warned of a process that
// is gone: the GPUs are sampled again when an environment gives a device back while a process still
// uses it, and before anybody gets a device that was in use when they were last sampled.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <functional>

namespace genv::core {

/// How long whoever gets a device that was in use waits for a fresh sample.
inline constexpr std::chrono::milliseconds occupancySampleDeadline{500};

class Occupancy {
  public:
    /// All outlive this, and so does the loop's last turn. Whoever takes observations tells the
    /// ledger of each.
    Occupancy(const Ledger& ledger, Observer& observer, Scheduler& scheduler)
        : ledger_(ledger), observer_(observer), scheduler_(scheduler) {}

    /// Hears an event of the ledger.
    void onEvent(const Event& event);
    /// Samples the GPUs, and calls a function once that is done, later: after the deadline where
    /// the driver does not answer, with what was known before.
    void sample(std::function<void()> function);

  private:
    const Ledger& ledger_;
    Observer& observer_;
    Scheduler& scheduler_;
    bool isSampling_ = false;
};

} // namespace genv::core
