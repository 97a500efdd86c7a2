// SPDX-License-Identifier: LGPL-2.1-or-later
// What follows when somebody else takes a device away: the compute processes of the environment on
// that device end. When owners detach their own devices nothing is ended.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/scheduler.hpp"
#include "core/terminator.hpp"

#include <memory>
#include <vector>

namespace genv::core {

class Evictor {
  public:
    /// All outlive this, and so does the loop's last turn.
    Evictor(const Ledger& ledger, Observer& observer, Terminator& terminator, Scheduler& scheduler,
            Log& log)
        : ledger_(ledger), observer_(observer), terminator_(terminator), scheduler_(scheduler),
          log_(log) {}

    /// Hears an event of the ledger.
    void onEvent(const Event& event);

  private:
    struct Eviction {
        std::shared_ptr<const Environment> former; ///< whose processes they are, as it was
        DeviceFacts device;
        Cause cause;
    };
    using Batch = std::vector<Eviction>;

    [[nodiscard]] bool isLeftToSlurm(const Detached& detached) const;
    void begin();
    void carryOut(const Batch& batch, const Observation& observation);

    const Ledger& ledger_;
    Observer& observer_;
    Terminator& terminator_;
    Scheduler& scheduler_;
    Log& log_;
    Batch pending_; ///< of this turn of the loop
};

} // namespace genv::core
