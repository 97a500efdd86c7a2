// SPDX-License-Identifier: LGPL-2.1-or-later
// Locks: exclusive use of devices among those that share them, first come, first served.
//
// A lock is on every device that its environment holds at the moment of the grant. It is advisory:
// whoever does not ask is not held up. A request waits while any of its devices is locked or wanted
// by an earlier request, so nobody is passed.
#pragma once

#include "core/error.hpp"
#include "core/events.hpp"
#include "core/ledger.hpp"
#include "core/ports/lock_descriptors.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>

namespace genv::core {

class Locks {
  public:
    using Ticket = std::uint64_t;
    /// Told once: the client's end of the lock, or null and why not.
    using Answer = std::function<void(const LockEnd* lock, const Error* refusal)>;

    /// All outlive this, and so does the loop's last turn.
    Locks(Ledger& ledger, LockDescriptors& descriptors, Scheduler& scheduler, Log& log);

    /// To be called when the state was found again: locks whose descriptors are gone are released.
    void recover();

    /// Waits for the lock on what an environment holds. Throws Error(NotAttached) where that is
    /// nothing, Error(LimitsExceeded) when the actor waits too often. The answer never comes before
    /// this returns.
    Ticket request(const EnvironmentId& environment, Uid actor, Answer answer);
    /// A request waits no longer, and nobody is told.
    void cancel(Ticket ticket);

    /// Hears an event of the ledger.
    void onEvent(const Event& event);

  private:
    struct Waiter {
        EnvironmentId environment;
        std::uint64_t sequence = 0; ///< the environment's: one that comes again is another
        Uid actor = 0;
        Answer answer;
    };

    void schedule();
    void serve();
    void answer(const Waiter& waiter);
    [[nodiscard]] std::set<DeviceUuid> locked() const;

    Ledger& ledger_;
    LockDescriptors& descriptors_;
    Scheduler& scheduler_;
    Log& log_;
    std::map<Ticket, Waiter> waiters_; ///< in the order in which they came
    Ticket lastTicket_ = 0;
    bool scheduled_ = false;
};

} // namespace genv::core
