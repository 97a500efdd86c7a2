// SPDX-License-Identifier: LGPL-2.1-or-later
// Locks: exclusive use of devices among those that share them, first come, first served.
//
// A lock is on every device that its environment holds at the moment of the grant. It is advisory:
// whoever does not ask is not held up. A request waits while any of its devices is locked or wanted
// by an earlier request, so nobody is passed.
//
// A request that has to wait is in the ledger, with its environment. One that was found in the
// state at start keeps its place for a while, until its client calls again.
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
#include <memory>
#include <optional>
#include <set>

namespace genv::core {

class Locks {
  public:
    using Ticket = std::uint64_t;
    /// Told once: the client's end of the lock, or null and why not.
    using Answer = std::function<void(const LockEnd* lock, const Error* refusal)>;

    /// All outlive this, and so does the loop's last turn.
    Locks(Ledger& ledger, LockDescriptors& descriptors, Scheduler& scheduler, Log& log);

    /// To be called when the state was found again: locks whose descriptors are gone are released,
    /// and the requests that waited begin to wait for their clients.
    void recover();

    /// Waits for the lock on what an environment holds; in the place of a request of the same actor
    /// that was found at start, where there is one. Throws Error(NotAttached) where that is
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
        Answer answer;         ///< none: it was found at start, and its client has not called again
        bool recorded = false; ///< the ledger has it
    };

    void releaseLost();
    void expectClients();
    void giveUpOnClients();
    [[nodiscard]] std::optional<Ticket> abandoned(const Environment& environment, Uid actor) const;
    [[nodiscard]] bool hasToWait(const Environment& asking) const;
    void requireRoom(Uid actor) const;
    void schedule();
    void serve();
    void answer(Ticket ticket, const Waiter& waiter);
    [[nodiscard]] const Environment* environmentOf(const Waiter& waiter) const;
    [[nodiscard]] std::set<DeviceUuid> locked() const;

    Ledger& ledger_;
    LockDescriptors& descriptors_;
    Scheduler& scheduler_;
    Log& log_;
    std::map<Ticket, Waiter> waiters_; ///< in the order in which they came
    std::unique_ptr<Scheduled> patience_;
    bool scheduled_ = false;
};

} // namespace genv::core
