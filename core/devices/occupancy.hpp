// SPDX-License-Identifier: LGPL-2.1-or-later
// Tracks devices that are used by a process outside their environments. Users must not be warned
// about a process that is already gone. Therefore the GPUs are sampled again when an environment
// gives back a device that a process still uses, and before anybody gets a device that was in use
// in the last sample.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace genv::core {

/// How long a request that gets such a device waits for a new sample.
inline constexpr std::chrono::milliseconds occupancySampleDeadline{500};
/// How often, and how many times, it first looks whether processes that genv ends have ended.
inline constexpr std::chrono::milliseconds endingPause{50};
inline constexpr int maxEndingPauses = 40;

class Occupancy {
  public:
    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop. The observer's owner passes each observation to the ledger.
    Occupancy(const LedgerView& ledger, Observer& observer, Scheduler& scheduler)
        : ledger_(ledger), observer_(observer), scheduler_(scheduler) {}

    /// Handles an event of the ledger.
    void onEvent(const Event& event);
    /// Sets a function that returns whether genv is ending processes now.
    void setEnding(std::function<bool()> isEnding) { isEnding_ = std::move(isEnding); }

    /// Samples the GPUs, after a while if genv is ending processes, and then calls a function,
    /// never from within this function. If the driver does not answer before the deadline, the
    /// function is called with the previous sample in place.
    void sample(std::function<void()> function);

  private:
    struct Question;
    void ask(const std::shared_ptr<Question>& question);

    const LedgerView& ledger_;
    Observer& observer_;
    Scheduler& scheduler_;
    std::function<bool()> isEnding_ = [] { return false; };
    bool isSampling_ = false;
};

} // namespace genv::core
