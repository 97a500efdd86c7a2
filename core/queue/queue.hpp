// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue of requests that wait for devices, in the order of core/placement/fair_order.hpp. The
// children of an environment have a queue of their own, for the devices of their parent.
//
// Kept devices do not lie idle without need. A request may use them if its lease ends before the
// waiting requests can start (backfill). That lease cannot be extended while they wait. No request
// waits longer than `maxWait`.
//
// A request that may be held for a quota waits while it would exceed one, and later requests pass
// it: nothing is kept for it, and the time does not count as waiting. Once its owner has given
// enough back, it is served in its place.
//
// Waiting requests are stored in the ledger, with their environments. The queue stores the
// callbacks of their callers. Free devices are kept for the earliest waiting request that can use
// them, also against requests that do not wait. Therefore code that places a request must ask the
// queue and not the device table. A request that was restored at start keeps its position for a
// limited time, until its client calls again.
#pragma once

#include "core/base/error.hpp"
#include "core/ledger/events.hpp"
#include "core/ledger/ledger.hpp"
#include "core/limits/admission.hpp"
#include "core/placement/fair_order.hpp"
#include "core/placement/open_plans.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"
#include "core/queue/kept_devices.hpp"
#include "core/queue/lending.hpp"
#include "core/queue/quota_hold.hpp"
#include "core/use/decayed_use.hpp"
#include "core/use/start_history.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace genv::core {

/// How long requests wait, and how long devices are kept for them.
struct WaitingTimes {
    std::chrono::milliseconds maxWait{std::chrono::hours{24}}; ///< maximum for any request
    /// How long a holder without a lease is assumed to stay.
    std::chrono::milliseconds keepFor{std::chrono::hours{1}};
};

/// What the order of the queue depends on. Without it, the queue is by arrival.
struct Ordering {
    std::function<OrderRules()> rules; ///< in force
    std::function<std::uint32_t(const UserInfo&)> weightOf;
    const DecayedUse* use = nullptr;
};

/// The standing of a waiting request.
struct RequestStanding {
    UserShare share; ///< its user's
    std::int32_t priority = 0;
    std::uint32_t overtakings = 0;      ///< so far
    std::optional<BootTime> firstSince; ///< set while it is the next request of its user
    bool canBeOvertaken = true;         ///< by later requests of other users
};

class Queue {
  public:
    using Ticket = std::uint64_t;
    /// Called once: with nothing when the devices were granted, otherwise with the error.
    using Answer = std::function<void(const std::optional<Error>& refusal)>;
    /// Returns the current limits of a user.
    using LimitsOf = std::function<Limits(const UserInfo&)>;
    /// Returns the current times, which apply to all users.
    using TimesOf = std::function<WaitingTimes()>;

    /// All referenced objects must outlive this one, which must outlive the last iteration of the
    /// loop. `history`: without it, no start is expected.
    Queue(Ledger& ledger, const Clock& clock, Scheduler& scheduler, const EventHub& events,
          Log& log, LimitsOf limitsOf, TimesOf times, Ordering ordering = {},
          StartHistory* history = nullptr);

    /// Call this after the state was restored. The restored requests start to wait for their
    /// clients.
    void expectClients();

    /// Selects the devices for a request, except those that are kept for waiting requests.
    /// `lifetime`: the requested lifetime, if any. `parent`: the parent of an environment that does
    /// not exist yet. Throws the same errors as core::place(); their texts name the holders of the
    /// wanted devices, the users for whom devices are kept, and possible remedies.
    [[nodiscard]] Placement place(const AttachRequest& request, const Requester& requester,
                                  std::optional<std::chrono::seconds> lifetime = std::nullopt,
                                  const EnvironmentRecord* parent = nullptr) const;
    /// Returns the plan for a request that may wait. Throws the same errors as core::placeOrWait().
    [[nodiscard]] Plan placeOrWait(const AttachRequest& request, const Requester& requester,
                                   std::optional<std::chrono::seconds> lifetime = std::nullopt,
                                   const EnvironmentRecord* parent = nullptr) const;
    /// Call this while a plan waits for its authorization, until the result is destroyed. If other
    /// requests find equally good devices, they leave those of the plan alone, so that requests
    /// at the same time do not all plan for the first free device. The plan has no right to them.
    [[nodiscard]] std::shared_ptr<void> open(const Plan& plan) { return openPlans_.add(plan); }
    /// Returns core::stillHolds() with regard to kept devices. Also checks that the plan's lease,
    /// if it began now, would end in time, and that the devices are kept for the same requests as
    /// before.
    [[nodiscard]] bool stillHolds(const Plan& plan, const Requester& requester,
                                  const EnvironmentRecord* parent = nullptr) const;
    /// Returns the devices that are kept for a user's waiting requests, except for the request
    /// `except`. Requests of child environments are not counted, since their parents hold those
    /// devices already.
    [[nodiscard]] KeptForUser keptFor(Uid owner, std::optional<Ticket> except = std::nullopt) const;

    /// Lets requests take devices on loan. `lending` must outlive the last iteration of the loop.
    void takeBy(Lending& lending);
    /// Returns whether a request that cannot have its devices now could take them. `preemptible`:
    /// of its environment. `taker`: its environment, or null if it does not exist yet.
    [[nodiscard]] bool couldTake(const AttachRequest& request, Uid owner, Preemptible preemptible,
                                 const EnvironmentRecord* taker) const;

    /// Returns the waiting requests in the order in force.
    [[nodiscard]] std::vector<Ticket> order() const;
    /// Returns the standing of a waiting request. The ticket must be one of order().
    [[nodiscard]] RequestStanding standing(Ticket ticket) const;
    /// What a waiting request waits for.
    enum class WaitsFor {
        Devices, ///< others hold the devices
        Earlier, ///< the devices are kept for earlier requests
        Quota,   ///< its owner holds too much
    };
    struct WaitState {
        Ticket ticket = 0;
        WaitsFor waitsFor = WaitsFor::Devices;
        std::optional<QuotaHold> hold; ///< set if it waits for its quota
        RequestStanding standing = {};
        /// Unset if it is not known, or such expectations rarely came true.
        std::optional<BootTime> expectedStart = {};
    };
    /// Returns what each request waits for, in the order of the queue.
    [[nodiscard]] std::vector<WaitState> states() const;
    /// Returns the limit that holds a waiting request back now, or nothing.
    [[nodiscard]] std::optional<QuotaHold> heldBy(Ticket ticket) const;

    /// Throws Error(LimitsExceeded) if this actor, for this owner, cannot add another request.
    void requireRoom(Uid owner, Uid actor) const;

    /// Returns the ticket of a matching request that was restored at start and whose client has not
    /// called again.
    [[nodiscard]] std::optional<Ticket> abandoned(const EnvironmentId& environment,
                                                  const AttachRequest& request) const;
    /// Returns whether such a request started an environment.
    [[nodiscard]] bool isAbandoned(const EnvironmentId& environment) const;

    /// Sets the callback for a request in the ledger. It is never called before this function
    /// returns. It gets Error(Timeout) after `timeout`, or when the request has waited for the
    /// maximum time.
    void await(Ticket ticket, UserInfo owner, std::optional<std::chrono::milliseconds> timeout,
               Answer answer);
    /// Cancels a waiting request without calling its callback.
    void cancel(Ticket ticket);
    /// Ends a wait on behalf of `actor`. Its caller gets `why` as Error(DeviceUnavailable). If the
    /// caller has not called again since the service started, it gets the error when it does.
    /// Throws Error(NoSuchWait).
    void dismiss(Ticket ticket, const Actor& actor, const std::string& why);
    /// Throws Error(NoSuchWait) unless a request with this ticket waits.
    void requireWait(Ticket ticket) const;
    /// Call this for a caller whose request may have been waiting when the service stopped. Throws
    /// Error(DeviceUnavailable), once, if that request was dismissed.
    void requireNotDismissed(const EnvironmentId& environment, const AttachRequest& request,
                             Uid actor);
    /// The same for a caller that starts or joins an environment with a process.
    void requireNotDismissed(const ProcessIdentity& process, Uid actor);

    /// Handles a change of the limits or times.
    void settingsChanged();

    /// Handles an event of the ledger.
    void onEvent(const Event& event);

  private:
    struct Waiter {
        EnvironmentId environment;
        UserInfo owner;
        Answer answer;
        /// The caller's own timeout: its end and its length.
        std::optional<std::pair<BootTime, std::chrono::milliseconds>> limit = {};
        std::unique_ptr<Scheduled> timeout = {};
        bool lasted = false; ///< the request could not be served immediately
    };

    /// A restored request that was dismissed before its client called again.
    struct Dismissed {
        EnvironmentRecord environment; ///< before the request was dismissed
        Wait wait;
        Error refusal;
    };

    /// When a request was expected to start, and when that was noted.
    struct NotedStart {
        BootTime noted;
        std::optional<BootTime> start; ///< unset: it was not known
    };

    /// The kept devices of each parent's children; null: the machine's.
    using KeptByParent = std::map<const EnvironmentRecord*, KeptDevices>;

    /// What one pass over the queue knows when it plans takings (queue_takings.cpp).
    struct TakingPass;

    [[nodiscard]] const EnvironmentRecord* parentOf(const EnvironmentRecord& environment) const;
    [[nodiscard]] KeptDevices keptDevices(const EnvironmentRecord* environment,
                                          const EnvironmentRecord* parent) const;
    [[nodiscard]] Placement besideOpenPlans(const AttachRequest& request,
                                            const Requester& requester, const KeptDevices& kept,
                                            std::optional<std::chrono::seconds> lifetime,
                                            Placement placement) const;
    [[nodiscard]] std::optional<Limits> limitsOn(Ticket ticket) const;
    [[nodiscard]] QuotaUse useBefore(Ticket ticket, const KeptDevices& kept) const;
    [[nodiscard]] std::optional<QuotaHold> heldBy(Ticket ticket, const KeptDevices& kept) const;
    void addExpectedStarts(std::vector<WaitState>& states) const;
    void noteExpectedStarts();
    void compareWithExpected(Ticket ticket);
    [[nodiscard]] WaitState stateOf(Ticket ticket, const KeptDevices& kept) const;
    [[nodiscard]] std::optional<Placement> placeWaiting(Ticket ticket,
                                                        const KeptDevices& kept) const;
    void keep(Ticket ticket, KeptDevices& kept) const;
    void holdBack(Ticket ticket, bool isHeld);
    void onTimeout(Ticket ticket, const std::string& why);
    void limitWait(Ticket ticket, Waiter& waiter);
    void schedule();
    [[nodiscard]] OrderRules rules() const;
    [[nodiscard]] UserShare shareOf(Ticket ticket, const EnvironmentRecord& environment) const;
    [[nodiscard]] std::vector<QueuePlace>
    places(const std::optional<QueuedRequest>& extra = std::nullopt) const;
    [[nodiscard]] RequestStanding standingOf(const QueuePlace& place) const;
    void serve();
    void noteFirsts(const std::vector<QueuePlace>& places);
    void adoptResuming();
    void planTakings(const std::vector<QueuePlace>& places);
    [[nodiscard]] bool planTaking(const QueuePlace& place, TakingPass& pass);
    [[nodiscard]] bool passOver(const QueuePlace& place, TakingPass& pass) const;
    [[nodiscard]] std::optional<TakingPlan>
    takingPlan(const AttachRequest& request, const EnvironmentRecord* environment,
               Preemptible preemptible, std::optional<Ticket> ticket, const TakingPass& pass) const;
    [[nodiscard]] bool isAdmitted(Ticket ticket, const TakingPlan& plan,
                                  const TakingPass& pass) const;
    [[nodiscard]] std::optional<Placement> placeTaking(Ticket ticket,
                                                       const KeptDevices& kept) const;
    void refuseTaker(Ticket ticket);
    [[nodiscard]] bool hasFreeDevice() const;
    void serveAgainLater();
    [[nodiscard]] bool serve(const std::vector<QueuePlace>& places, std::size_t index,
                             KeptByParent& all);
    [[nodiscard]] std::vector<Ticket> overtaken(const std::vector<QueuePlace>& places,
                                                std::size_t index, const Placement& placement,
                                                const DeviceTable& devices) const;
    void grant(Ticket ticket, Placement placement, const std::vector<Ticket>& overtaken);
    void refuse(Ticket ticket, const Error& error);
    void forget(const EnvironmentId& environment);
    void giveUpOnClients();
    template <typename Matches>
    void refuseDismissed(Uid actor, Matches matches);

    Ledger& ledger_;
    const Clock& clock_;
    Scheduler& scheduler_;
    const EventHub& events_;
    Log& log_;
    const LimitsOf limitsOf_;
    const TimesOf times_;
    const Ordering ordering_;
    StartHistory* const history_;
    Lending* lending_ = nullptr;
    OpenPlans openPlans_;
    std::map<Ticket, Waiter> waiters_;
    std::map<Ticket, NotedStart> notedStarts_; ///< of requests that no quota holds back
    std::set<Ticket> abandoned_;
    std::vector<Dismissed> dismissed_;
    std::unique_ptr<Scheduled> timeout_;
    std::unique_ptr<Scheduled> retry_;   ///< retries a grant that could not be written
    std::unique_ptr<Scheduled> reorder_; ///< the order may change without an event
    bool scheduled_ = false;
};

} // namespace genv::core
