// SPDX-License-Identifier: LGPL-2.1-or-later
// Ends the compute processes of an environment on a device that somebody other than the owner took
// away. If owners detach their own devices, no process is ended.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger_view.hpp"
#include "core/ports/log.hpp"
#include "core/ports/observer.hpp"
#include "core/ports/scheduler.hpp"
#include "core/rules/terminator.hpp"

#include <memory>
#include <vector>

namespace genv::core {

class Evictor {
  public:
    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop.
    Evictor(const LedgerView& ledger, Observer& observer, Terminator& terminator,
            Scheduler& scheduler, Log& log)
        : ledger_(ledger), observer_(observer), terminator_(terminator), scheduler_(scheduler),
          log_(log) {}

    /// Handles an event of the ledger.
    void onEvent(const Event& event);
    /// Returns whether it has not yet looked for processes to end.
    [[nodiscard]] bool isBusy() const { return !pending_.empty() || samples_ > 0; }

  private:
    struct Eviction {
        std::shared_ptr<const EnvironmentRecord>
            former; ///< the owner of the processes, before the change
        DeviceFacts device;
        Cause cause;
    };
    using Batch = std::vector<Eviction>;

    [[nodiscard]] bool isEndedBySlurm(const Detached& detached) const;
    void begin();
    void carryOut(const Batch& batch, const Observation& observation);

    const LedgerView& ledger_;
    Observer& observer_;
    Terminator& terminator_;
    Scheduler& scheduler_;
    Log& log_;
    Batch pending_;   ///< collected in the current iteration of the loop
    int samples_ = 0; ///< requested and not yet there
};

} // namespace genv::core
