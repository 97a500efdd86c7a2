// SPDX-License-Identifier: LGPL-2.1-or-later
// A device that its environment gave back while a process still used it: the GPUs are looked at
// again at once, so that whoever asks next is told of that process as long as it is there, and no
// longer.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/scheduler.hpp"

namespace genv::core {

class Occupancy {
  public:
    /// All outlive this, and so does the loop's last turn. Whoever takes observations tells the
    /// ledger of each.
    Occupancy(const Ledger& ledger, Observer& observer, Scheduler& scheduler)
        : ledger_(ledger), observer_(observer), scheduler_(scheduler) {}

    /// Hears an event of the ledger.
    void onEvent(const Event& event);

  private:
    const Ledger& ledger_;
    Observer& observer_;
    Scheduler& scheduler_;
    bool looks_ = false;
};

} // namespace genv::core
