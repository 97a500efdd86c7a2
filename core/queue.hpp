// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue of those who wait for devices: first come, first served. The children of an environment
// have one of their own, for what their parent holds.
//
// Nothing that is kept lies idle without need: a request whose lease ends before those for whom it
// is kept can start may use it (backfill), and cannot have that lease extended while they wait.
// Nobody waits longer than `maxWait`.
//
// Who waits is in the ledger, with the environment that asked; here is who is to be told. What is
// free is kept for the earliest waiter that can use it, also against those who do not wait, so
// whoever places a request asks the queue and not the table. A request that was found in the state
// at start keeps its place for a while, until its client calls again.
#pragma once

#include "core/admission.hpp"
#include "core/error.hpp"
#include "core/events.hpp"
#include "core/kept_devices.hpp"
#include "core/ledger.hpp"
#include "core/ports/log.hpp"
#include "core/ports/scheduler.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace genv::core {

/// How long requests wait, and devices are kept for them.
struct WaitingTimes {
    std::chrono::milliseconds maxWait{std::chrono::hours{24}}; ///< of any request
    /// How long a holder without a lease is reckoned to stay.
    std::chrono::milliseconds keepFor{std::chrono::hours{1}};
};

class Queue {
  public:
    using Ticket = std::uint64_t;
    /// Told once: nothing when the devices were given, else why not.
    using Answer = std::function<void(const std::optional<Error>& refusal)>;
    /// What applies to a user now.
    using LimitsOf = std::function<Limits(const UserInfo&)>;
    /// What applies to everybody now.
    using TimesOf = std::function<WaitingTimes()>;

    /// All outlive this, and so does the loop's last turn.
    Queue(Ledger& ledger, const Clock& clock, Scheduler& scheduler, const EventHub& events,
          Log& log, LimitsOf limitsOf, TimesOf times);

    /// To be called when the state was found again: the requests in it begin to wait for their
    /// clients.
    void expectClients();

    /// Works out what a request gets beside what is kept for those who wait. `lifetime`: how long
    /// it wants it, where it says. Throws as core::place() does, and says who holds what is wanted,
    /// for whom it is kept, and what would help. `parent`: of an environment that does not exist
    /// yet.
    [[nodiscard]] Placement place(const AttachRequest& request, const Environment* environment,
                                  std::optional<std::chrono::seconds> lifetime = std::nullopt,
                                  const Environment* parent = nullptr) const;
    /// The same for a request that may wait. Throws as core::placeOrWait() does.
    [[nodiscard]] Plan placeOrWait(const AttachRequest& request, const Environment* environment,
                                   std::optional<std::chrono::seconds> lifetime = std::nullopt,
                                   const Environment* parent = nullptr) const;
    /// core::stillHolds(), beside what is kept for those who wait; also whether its lease, which
    /// would begin now, ends in time, and for whom it is kept is as it was.
    [[nodiscard]] bool stillHolds(const Plan& plan, const Environment* environment,
                                  const Environment* parent = nullptr) const;
    /// What is kept for the waiting requests of a user, but for one of them. What children wait for
    /// is their parents' already.
    [[nodiscard]] KeptForUser keptFor(Uid owner, std::optional<Ticket> except = std::nullopt) const;

    /// Throws Error(LimitsExceeded) when one more request of this actor for this owner is too many.
    void requireRoom(Uid owner, Uid actor) const;

    /// The place of a request that was found at start and whose client has not called again.
    [[nodiscard]] std::optional<Ticket> abandoned(const EnvironmentId& environment,
                                                  const AttachRequest& request) const;
    /// Whether an environment was started by such a request.
    [[nodiscard]] bool isAbandoned(const EnvironmentId& environment) const;

    /// Somebody wants to hear of a request that the ledger has. The answer never comes before this
    /// returns. After `timeout`, or when it has waited as long as any request may, it is
    /// Error(Timeout).
    void await(Ticket ticket, UserInfo owner, std::optional<std::chrono::milliseconds> timeout,
               Answer answer);
    /// A request waits no longer, and nobody is told.
    void cancel(Ticket ticket);
    /// Somebody ends a wait, and its caller is told `why` as Error(DeviceUnavailable). A caller
    /// that has not called again since the service started is told so when it does. Throws
    /// Error(NoSuchWait).
    void dismiss(Ticket ticket, const Actor& actor, const std::string& why);
    /// Throws Error(NoSuchWait) unless a request with this ticket waits.
    void requireWait(Ticket ticket) const;
    /// To be called by a caller that may have had a place when the service ended. Throws
    /// Error(DeviceUnavailable), once, where the place was dismissed.
    void requireNotDismissed(const EnvironmentId& environment, const AttachRequest& request,
                             Uid actor);
    /// The same for a caller that starts or joins an environment with a process.
    void requireNotDismissed(const ProcessIdentity& process, Uid actor);

    /// The limits or the times are others now.
    void settingsChanged();

    /// Hears an event of the ledger.
    void onEvent(const Event& event);

  private:
    struct Waiter {
        EnvironmentId environment;
        UserInfo owner;
        Answer answer;
        /// The caller's own timeout: when it ends, and how long it is.
        std::optional<std::pair<BootTime, std::chrono::milliseconds>> limit = {};
        std::unique_ptr<Scheduled> timeout = {};
        bool lasted = false; ///< it could not be served at once
    };

    /// A place that was kept for a client, and that somebody ended before it called again.
    struct Dismissed {
        Environment environment; ///< as it was
        Wait wait;
        Error refusal;
    };

    /// The devices that requests of each parent's children choose from; null: the machine's.
    using KeptByParent = std::map<const Environment*, KeptDevices>;

    [[nodiscard]] const Environment* parentOf(const Environment& environment) const;
    [[nodiscard]] KeptDevices keptDevices(const Environment* environment,
                                          const Environment* parent) const;
    void keep(Ticket ticket, KeptDevices& kept) const;
    void limitWait(Ticket ticket, Waiter& waiter);
    void schedule();
    void serve();
    void serve(Ticket ticket, KeptByParent& all);
    void grant(Ticket ticket, Placement placement);
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
    std::map<Ticket, Waiter> waiters_;
    std::set<Ticket> abandoned_;
    std::vector<Dismissed> dismissed_;
    std::unique_ptr<Scheduled> patience_;
    std::unique_ptr<Scheduled> retry_; ///< of a grant that could not be written
    bool scheduled_ = false;
};

} // namespace genv::core
