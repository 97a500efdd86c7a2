// SPDX-License-Identifier: LGPL-2.1-or-later
// Locks: exclusive use of devices among the environments that share them, first come, first served.
//
// A lock covers every device that its environment holds at the moment of the grant. Locks are
// advisory: environments that do not request one are not blocked. A request waits while any of its
// devices is locked or wanted by an earlier request, so no request overtakes another.
//
// A waiting request is stored in the ledger, with its environment. A request that was restored at
// start keeps its position for a limited time, until its client calls again.
#pragma once

#include "core/base/error.hpp"
#include "core/ledger/events.hpp"
#include "core/ledger/ledger.hpp"
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
    /// Called once: with the client's end of the lock, or with null and the error.
    using Answer = std::function<void(const LockEnd* lock, const Error* refusal)>;

    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop.
    Locks(Ledger& ledger, LockDescriptors& descriptors, Scheduler& scheduler, Log& log);

    /// Call this after the state was restored. Releases the locks whose descriptors are gone, and
    /// lets restored requests wait for their clients.
    void recover();

    /// Waits for a lock on the devices of an environment. If a request of the same actor was
    /// restored at start, this one takes its position. Throws Error(NotAttached) if the environment
    /// holds no device, and Error(LimitsExceeded) if the actor has too many waiting requests.
    /// `answer` is never called before this function returns.
    Ticket request(const EnvironmentId& environment, Uid actor, Answer answer);
    /// Cancels a waiting request without calling its callback.
    void cancel(Ticket ticket);

    /// Handles an event of the ledger.
    void onEvent(const Event& event);

  private:
    struct Waiter {
        EnvironmentId environment;
        std::uint64_t sequence = 0; ///< of the environment, to detect another one with the same id
        Uid actor = 0;
        Answer answer; ///< empty if the request was restored at start and its client has not called
                       ///< again
        bool recorded = false; ///< the request is stored in the ledger
    };

    void releaseLost();
    void expectClients();
    void giveUpOnClients();
    [[nodiscard]] std::optional<Ticket> abandoned(const EnvironmentRecord& environment,
                                                  Uid actor) const;
    [[nodiscard]] bool hasToWait(const EnvironmentRecord& asking) const;
    void requireRoom(Uid actor) const;
    void schedule();
    void serve();
    void answer(Ticket ticket, const Waiter& waiter);
    [[nodiscard]] const EnvironmentRecord* environmentOf(const Waiter& waiter) const;
    [[nodiscard]] std::set<DeviceUuid> locked() const;

    Ledger& ledger_;
    LockDescriptors& descriptors_;
    Scheduler& scheduler_;
    Log& log_;
    std::map<Ticket, Waiter> waiters_; ///< in the order of arrival
    std::unique_ptr<Scheduled> timeout_;
    bool scheduled_ = false;
};

} // namespace genv::core
