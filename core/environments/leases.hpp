// SPDX-License-Identifier: LGPL-2.1-or-later
// Ends environments and attachments whose leases are over, and emits warnings before.
//
// Invariant: the timer is never later than the earliest moment at which an action is due. The timer
// uses a clock that stops while the machine sleeps, so check() is also called periodically.
#pragma once

#include "core/ledger/events.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace genv::core {

/// How long before the end of a lease its holder is warned. If a lease is too short for these
/// warnings, there is one warning at half of the lease.
inline constexpr std::chrono::minutes firstLeaseWarning{10};
inline constexpr std::chrono::minutes lastLeaseWarning{1};

/// Returns the moments at which the holder of a lease is warned, earliest first.
std::vector<BootTime> warningsOf(const Lease& lease);

class Leases {
  public:
    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop.
    Leases(Ledger& ledger, const Clock& clock, Scheduler& scheduler, const EventHub& events);

    /// Parks an environment whose lease ends, instead of ending it, and calls back with whether
    /// that succeeded. Returns false if it does not try.
    using Park = std::function<bool(const EnvironmentId&, std::function<void(bool isParked)>)>;
    /// Sets how environments are parked. Without it, they end with their leases.
    void parkBy(Park park) { park_ = std::move(park); }

    /// Handles an event of the ledger.
    void onEvent(const Event& event);
    /// Ends leases that are over, and emits warnings for those that end soon.
    void check();

  private:
    void track(const EnvironmentId& environment);
    void untrack(const EnvironmentId& environment);
    void forget(const EnvironmentId& environment);
    void schedule();
    void checkEnvironment(const EnvironmentId& id, BootTime now);
    [[nodiscard]] bool isBeingParked(const EnvironmentRecord& environment) const;
    [[nodiscard]] bool tryToPark(const EnvironmentRecord& environment);
    void warn(const EnvironmentRecord& environment, const Lease& lease,
              const std::optional<DeviceFacts>& device, BootTime now);

    Ledger& ledger_;
    const Clock& clock_;
    Scheduler& scheduler_;
    const EventHub& events_;
    BootTime checked_; ///< all actions due before this moment are done
    std::set<std::pair<BootTime, EnvironmentId>> due_; ///< the next due moment of each environment
    std::unordered_map<EnvironmentId, BootTime> next_; ///< the same moments, indexed by environment
    std::unique_ptr<Scheduled> timer_;
    bool scheduled_ = false;
    Park park_;
    /// The sequences of those that are parked instead of ended.
    std::unordered_map<EnvironmentId, std::uint64_t> parking_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< expires with this object
};

} // namespace genv::core
