// SPDX-License-Identifier: LGPL-2.1-or-later
// What ends by itself: environments and attachments whose leases are over, and the warnings before.
//
// Invariant: the timer is never later than the earliest moment at which something is due. It runs
// by a clock that stops while the machine sleeps, so check() is called now and then as well.
#pragma once

#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace genv::core {

/// When the holder of a lease is warned: how long before its end. A lease that is too short for
/// them has one warning, at its half.
inline constexpr std::chrono::minutes firstLeaseWarning{10};
inline constexpr std::chrono::minutes lastLeaseWarning{1};

/// The moments at which the holder of a lease is warned, earliest first.
std::vector<BootTime> warningsOf(const Lease& lease);

class Leases {
  public:
    /// All outlive this, and so does the loop's last turn.
    Leases(Ledger& ledger, const Clock& clock, Scheduler& scheduler, const EventHub& events);

    /// Hears an event of the ledger.
    void onEvent(const Event& event);
    /// Ends what is over and warns of what is nearly.
    void check();

  private:
    void track(const EnvironmentId& environment);
    void untrack(const EnvironmentId& environment);
    void schedule();
    void checkEnvironment(const EnvironmentId& id, BootTime now);
    void warn(const Environment& environment, const Lease& lease,
              const std::optional<DeviceFacts>& device, BootTime now);

    Ledger& ledger_;
    const Clock& clock_;
    Scheduler& scheduler_;
    const EventHub& events_;
    BootTime checked_;                                 ///< what was due until then is done
    std::set<std::pair<BootTime, EnvironmentId>> due_; ///< the next moment of each environment
    std::unordered_map<EnvironmentId, BootTime> next_; ///< the same, by environment
    std::unique_ptr<Scheduled> timer_;
    bool scheduled_ = false;
};

} // namespace genv::core
