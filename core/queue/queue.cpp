// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/queue/queue.hpp"

#include "core/base/duration.hpp"
#include "core/ledger/recovery.hpp"
#include "core/queue/unavailable.hpp"
#include "core/settings/caps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

constexpr std::chrono::seconds writeRetryInterval{1};

// How often the queue is served while use and time may change its order.
constexpr std::chrono::seconds reorderInterval{10};

// Returns whether one of its processes still lives. If none does, its end is about to be reported.
bool hasLivingProcess(const EnvironmentRecord& environment) {
    if (environment.hasParked())
        return true;
    const auto lives = [](const RootProcess& process) {
        return process.pin && !process.pin->hasExited();
    };
    return std::any_of(environment.processes.begin(), environment.processes.end(), lives) ||
           std::any_of(
               environment.jupyterKernels.begin(), environment.jupyterKernels.end(),
               [&](const JupyterKernel& jupyterKernel) { return lives(jupyterKernel.process); });
}

// Returns whether a request names a device that was reserved for Slurm while it waited.
bool wantsDeviceOfSlurms(const AttachRequest& request, const DeviceTable& devices,
                         const EnvironmentRecord& environment) {
    return std::ranges::any_of(namedDevices(request, devices, &environment),
                               [](const TableDevice* device) { return device->reservedForSlurm; });
}

} // namespace

Queue::Queue(Ledger& ledger, const Clock& clock, Scheduler& scheduler, const EventHub& events,
             Log& log, LimitsOf limitsOf, TimesOf times, Ordering ordering, StartHistory* history)
    : ledger_(ledger), clock_(clock), scheduler_(scheduler), events_(events), log_(log),
      limitsOf_(std::move(limitsOf)), times_(std::move(times)), ordering_(std::move(ordering)),
      history_(history) {}

void Queue::expectClients() {
    std::vector<Ticket> takers; // whose clients do not call again
    for (const auto& [ticket, environment] : ledger_.waits()) {
        if (ledger_.wait(ticket).takesOnly)
            takers.push_back(ticket);
        else if (!ledger_.wait(ticket).resumes)
            abandoned_.insert(ticket);
    }
    if (!takers.empty())
        scheduler_.soon([this, takers] {
            for (const Ticket ticket : takers)
                cancel(ticket);
        });
    schedule();
    if (!abandoned_.empty())
        timeout_ = scheduler_.after(clientTimeout, [this] { giveUpOnClients(); });
}

Placement Queue::place(const AttachRequest& request, const Requester& requester,
                       std::optional<std::chrono::seconds> lifetime,
                       const EnvironmentRecord* parent) const {
    const KeptDevices kept = keptDevices(requester.environment, parent);
    try {
        return besideOpenPlans(request, requester, kept, lifetime,
                               core::place(request, kept.devices(), requester, kept.reservations(),
                                           leaseEnd(requester.environment, lifetime, kept.now())));
    } catch (const Error& error) {
        if (error.code() != ErrorCode::DeviceUnavailable)
            throw;
        const std::string why = error.what();
        const std::string keepers = describeKeepers(request, requester, ledger_, kept);
        const std::string holders = describeHolders(request, kept.devices(), ledger_);
        const bool isFirst = keepers.empty() && why.find(": ") == std::string::npos;
        const char* before = holders.empty() ? "" : isFirst ? ": " : "; ";
        throw Error(error.code(), why + keepers + before + holders);
    }
}

Plan Queue::placeOrWait(const AttachRequest& request, const Requester& requester,
                        std::optional<std::chrono::seconds> lifetime,
                        const EnvironmentRecord* parent) const {
    const KeptDevices kept = keptDevices(requester.environment, parent);
    Plan plan = core::placeOrWait(request, kept.devices(), requester, kept.reservations(),
                                  leaseEnd(requester.environment, lifetime, kept.now()));
    if (auto* placement = std::get_if<Placement>(&plan))
        return besideOpenPlans(request, requester, kept, lifetime, std::move(*placement));
    std::get<PlannedWait>(plan).expected.lifetime = lifetime;
    return plan;
}

// Returns a placement on other devices if they are as good and not part of an open plan.
Placement Queue::besideOpenPlans(const AttachRequest& request, const Requester& requester,
                                 const KeptDevices& kept,
                                 std::optional<std::chrono::seconds> lifetime,
                                 Placement placement) const {
    const auto end = leaseEnd(requester.environment, lifetime, kept.now());
    const Reservations withPlans = openPlans_.with(kept.reservations());
    const auto isLeft = [&](const Placement::Device& placed) {
        return placed.overSubscribed ||
               withPlans.leave(*kept.devices().findUuid(placed.facts.uuid), placement.share, end);
    };
    if (!std::ranges::all_of(placement.attach, isLeft)) {
        try {
            Placement other = core::place(request, kept.devices(), requester, withPlans, end);
            if (isAsGood(other, placement))
                placement = std::move(other);
        } catch (const Error&) {
            // There are no other devices.
        }
    }
    placement.lifetime = lifetime;
    return placement;
}

bool Queue::stillHolds(const Plan& plan, const Requester& requester,
                       const EnvironmentRecord* parent) const {
    const KeptDevices kept = keptDevices(requester.environment, parent);
    const Reservations& reservations = kept.reservations();
    const auto end = leaseEnd(requester.environment, placementOf(plan).lifetime, kept.now());
    if (!core::stillHolds(plan, kept.devices(), requester, reservations, end))
        return false;
    const auto* placement = std::get_if<Placement>(&plan);
    if (placement == nullptr)
        return true;
    // The requests for which the devices are kept are part of the accepted plan.
    return std::all_of(placement->attach.begin(), placement->attach.end(),
                       [&](const Placement::Device& wanted) {
                           return reservations.passed(*kept.devices().findUuid(wanted.facts.uuid),
                                                      placement->share, end) == wanted.keptFor;
                       });
}

KeptForUser Queue::keptFor(Uid owner, std::optional<Ticket> except) const {
    return keptDevices(nullptr, nullptr).of(owner, except);
}

void Queue::requireRoom(Uid owner, Uid actor) const {
    if (actor == 0)
        return;
    const auto count =
        std::count_if(ledger_.waits().begin(), ledger_.waits().end(), [&](const auto& waiting) {
            return ledger_.get(waiting.second).uid == owner && !ledger_.wait(waiting.first).resumes;
        });
    if (static_cast<std::size_t>(count) >= caps::waitsPerUser)
        fail(ErrorCode::LimitsExceeded,
             "a user may wait for devices {} times at once; let one wait end first",
             caps::waitsPerUser);
}

std::optional<Queue::Ticket> Queue::abandoned(const EnvironmentId& environment,
                                              const AttachRequest& request) const {
    const auto found = std::find_if(abandoned_.begin(), abandoned_.end(), [&](Ticket ticket) {
        return ledger_.waits().at(ticket) == environment && ledger_.wait(ticket).request == request;
    });
    return found == abandoned_.end() ? std::nullopt : std::optional(*found);
}

bool Queue::isAbandoned(const EnvironmentId& environment) const {
    return std::any_of(abandoned_.begin(), abandoned_.end(), [&](Ticket ticket) {
        return ledger_.waits().at(ticket) == environment && ledger_.wait(ticket).startsEnvironment;
    });
}

void Queue::await(Ticket ticket, UserInfo owner, std::optional<std::chrono::milliseconds> timeout,
                  Answer answer) {
    abandoned_.erase(ticket);
    Waiter waiter{ledger_.waits().at(ticket), std::move(owner), std::move(answer)};
    if (timeout)
        waiter.limit = {clock_.bootNow() + *timeout, *timeout};
    limitWait(ticket, waiters_.insert_or_assign(ticket, std::move(waiter)).first->second);
    schedule();
}

// A wait ends by the caller's timeout, or by the maximum for all requests.
void Queue::limitWait(Ticket ticket, Waiter& waiter) {
    const std::chrono::milliseconds maxWait = times_().maxWait;
    const Wait& wait = ledger_.wait(ticket);
    std::optional<BootTime> end;
    std::string why;
    if (!wait.heldSince && !wait.resumes) {
        end = wait.began + wait.heldFor + maxWait;
        why = fmt::format(
            "no device became free within {}, the longest that a request may wait (MaxWait)",
            formatDuration(maxWait));
    }
    if (waiter.limit && waiter.limit->first <= end.value_or(BootTime::max())) {
        end = waiter.limit->first;
        why = fmt::format("no device became free within {}", formatDuration(waiter.limit->second));
    }
    waiter.timeout.reset();
    if (end)
        waiter.timeout =
            scheduler_.after(std::chrono::ceil<std::chrono::milliseconds>(
                                 std::max(*end - clock_.bootNow(), std::chrono::microseconds{0})),
                             [this, ticket, why = std::move(why)] { onTimeout(ticket, why); });
}

void Queue::settingsChanged() {
    for (auto& [ticket, waiter] : waiters_) {
        if (ledger_.waits().contains(ticket))
            limitWait(ticket, waiter);
    }
    schedule();
}

void Queue::cancel(Ticket ticket) {
    waiters_.erase(ticket);
    abandoned_.erase(ticket);
    ledger_.endWait(ticket, Reason::cancelled());
}

void Queue::requireWait(Ticket ticket) const {
    if (!ledger_.waits().contains(ticket))
        fail(ErrorCode::NoSuchWait, "no request with ticket {} waits in the queue", ticket);
}

void Queue::dismiss(Ticket ticket, const Actor& actor, const std::string& why) {
    requireWait(ticket);
    const Error refusal(ErrorCode::DeviceUnavailable, why);
    const auto waiter = waiters_.extract(ticket);
    if (abandoned_.erase(ticket) > 0)
        dismissed_.push_back(
            {ledger_.get(ledger_.waits().at(ticket)), ledger_.wait(ticket), refusal});
    ledger_.endWait(ticket, Reason::cancelled(), actor);
    if (waiter)
        waiter.mapped().answer(refusal);
}

void Queue::requireNotDismissed(const EnvironmentId& environment, const AttachRequest& request,
                                Uid actor) {
    refuseDismissed(actor, [&](const Dismissed& place) {
        return place.environment.id == environment && place.wait.request == request;
    });
}

void Queue::requireNotDismissed(const ProcessIdentity& process, Uid actor) {
    const auto isIt = [&](const ProcessIdentity& other) { return other == process; };
    refuseDismissed(actor, [&](const Dismissed& place) {
        return std::ranges::any_of(place.environment.processes, isIt, &RootProcess::identity) ||
               std::ranges::any_of(place.environment.jupyterKernels,
                                   [&](const JupyterKernel& jupyterKernel) {
                                       return isIt(jupyterKernel.process.identity);
                                   });
    });
}

template <typename Matches>
void Queue::refuseDismissed(Uid actor, Matches matches) {
    const auto found = std::ranges::find_if(dismissed_, [&](const Dismissed& place) {
        return place.wait.actor == actor && matches(place);
    });
    if (found == dismissed_.end())
        return;
    const Error refusal = found->refusal;
    dismissed_.erase(found);
    throw refusal;
}

void Queue::onEvent(const Event& event) {
    if (const auto* removed = std::get_if<EnvironmentRemoved>(&event))
        forget(removed->environment);
    if (const auto* ending = std::get_if<EnvironmentEnding>(&event))
        forget(ending->environment);
    if (ledger_.waits().empty())
        return;
    // These events may free a device or a quota, let a device be over-subscribed, change the order,
    // or change how long a device is kept.
    const auto* device = std::get_if<DeviceChanged>(&event);
    const auto* environment = std::get_if<EnvironmentChanged>(&event);
    if (std::holds_alternative<Detached>(event) || std::holds_alternative<QueueChanged>(event) ||
        std::holds_alternative<DeviceAdded>(event) ||
        std::holds_alternative<DeviceRemoved>(event) ||
        std::holds_alternative<EnvironmentRemoved>(event) ||
        (environment != nullptr && (environment->field == EnvironmentField::Expires ||
                                    environment->field == EnvironmentField::OverSubscribable)) ||
        (device != nullptr && device->field != DeviceField::LockedBy))
        schedule();
}

void Queue::forget(const EnvironmentId& environment) {
    std::erase_if(abandoned_, [&](Ticket ticket) { return !ledger_.waits().contains(ticket); });
    // Callbacks run after the change was reported.
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
        if (waiter->second.environment != environment || ledger_.waits().contains(waiter->first)) {
            ++waiter;
            continue;
        }
        scheduler_.soon([answer = std::move(waiter->second.answer), environment] {
            answer(Error(ErrorCode::NoSuchEnvironment,
                         fmt::format("environment {} ended while it waited", environment)));
        });
        waiter = waiters_.erase(waiter);
    }
}

void Queue::giveUpOnClients() {
    dismissed_.clear();
    for (const Ticket ticket : std::exchange(abandoned_, {}))
        ledger_.endWait(ticket, Reason::cancelled());
}

const EnvironmentRecord* Queue::parentOf(const EnvironmentRecord& environment) const {
    return environment.parent ? &ledger_.get(*environment.parent) : nullptr;
}

// Considers only waiting requests that choose from the same devices as the environment.
KeptDevices Queue::keptDevices(const EnvironmentRecord* environment,
                               const EnvironmentRecord* parent) const {
    KeptDevices kept(ledger_, clock_.bootNow(), times_().keepFor,
                     environment != nullptr ? parentOf(*environment) : parent);
    for (const Ticket ticket : order()) {
        if (kept.areFor(ledger_.get(ledger_.waits().at(ticket))))
            keep(ticket, kept);
    }
    return kept;
}

void Queue::keep(Ticket ticket, KeptDevices& kept) const {
    const Wait& wait = ledger_.wait(ticket);
    const bool isHeld =
        waiters_.contains(ticket) ? heldBy(ticket, kept).has_value() : wait.heldSince.has_value();
    if (!isHeld)
        kept.keep(ledger_.get(ledger_.waits().at(ticket)), wait, limitsOn(ticket));
}

void Queue::schedule() {
    if (!std::exchange(scheduled_, true))
        scheduler_.soon([this] {
            scheduled_ = false;
            serve();
        });
}

void Queue::serve() {
    if (lending_ != nullptr)
        lending_->settle();
    adoptResuming();
    noteFirsts(places());
    const std::vector<QueuePlace> places = this->places();
    KeptByParent kept;
    for (std::size_t i = 0; i < places.size(); ++i) {
        // A request may have ended because of an earlier one.
        if (ledger_.waits().contains(places[i].request.ticket) && serve(places, i, kept)) {
            schedule();
            break;
        }
    }
    planTakings(this->places());
    noteExpectedStarts();
    serveAgainLater();
}

// Returns whether a new order could matter: a device that is kept for one request may be free for
// another one. Children wait for devices that their parents hold.
bool Queue::hasFreeDevice() const {
    return std::ranges::any_of(
               ledger_.devices().byIndex(),
               [](const auto& entry) { return entry.second.availableMemory() > Bytes{0}; }) ||
           std::ranges::any_of(ledger_.waits(), [this](const auto& waiting) {
               return ledger_.get(waiting.second).parent.has_value();
           });
}

void Queue::serveAgainLater() {
    reorder_.reset();
    if (rules().order == QueueOrder::Fair && ledger_.waits().size() > 1)
        reorder_ = scheduler_.after(reorderInterval, [this] {
            if (hasFreeDevice())
                schedule();
            else
                serveAgainLater();
        });
}

// Returns whether the grant changed the order of the requests behind it, since one of them cannot
// be overtaken any more.
bool Queue::serve(const std::vector<QueuePlace>& places, std::size_t index, KeptByParent& all) {
    const Ticket ticket = places[index].request.ticket;
    const EnvironmentRecord* parent = parentOf(ledger_.get(ledger_.waits().at(ticket)));
    KeptDevices& kept =
        all.try_emplace(parent, ledger_, clock_.bootNow(), times_().keepFor, parent).first->second;
    kept.refresh(); // a parent or another child may have been served in the meantime
    const auto waiter = waiters_.find(ticket);
    if (waiter == waiters_.end() || !hasLivingProcess(ledger_.get(ledger_.waits().at(ticket)))) {
        keep(ticket, kept);
        return false;
    }
    holdBack(ticket, heldBy(ticket, kept).has_value());
    const Wait& wait = ledger_.wait(ticket);
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    if (wait.heldSince) {
        waiter->second.lasted = true;
        return false;
    }
    const auto goOnWaiting = [&] {
        waiter->second.lasted = true;
        keep(ticket, kept);
        return false;
    };
    const auto namesSlurms = [&] {
        return wantsDeviceOfSlurms(wait.request, kept.devices(), environment);
    };
    try {
        auto placement = wait.taking ? placeTaking(ticket, kept) : placeWaiting(ticket, kept);
        if (!placement && namesSlurms()) // it is refused with the reason
            placement = core::place(wait.request, kept.devices(), requesterOf(environment, wait));
        if (!placement)
            return goOnWaiting();
        const QuotaViolation violation =
            wait.exempt || parent != nullptr
                ? std::nullopt
                : admitAttachment(ledger_, environment, limitsOf_(waiter->second.owner), *placement,
                                  kept.of(environment.uid));
        if (violation && wait.holdForQuota) {
            keep(ticket, kept);
            return false;
        }
        if (violation) {
            refuse(ticket, {ErrorCode::QuotaExceeded, *violation});
            return false;
        }
        const auto passed = overtaken(places, index, *placement, kept.devices());
        grant(ticket, *std::move(placement), passed);
        return std::ranges::any_of(passed, [&](Ticket other) {
            return ledger_.waits().contains(other) &&
                   ledger_.wait(other).overtakings == rules().maxOvertaking;
        });
    } catch (const Error& error) {
        const bool mayPass = wait.resumes || error.code() == ErrorCode::DeviceUnavailable ||
                             error.code() == ErrorCode::StorageFailed ||
                             error.code() == ErrorCode::IsolationFailed;
        if (mayPass && !namesSlurms())
            return goOnWaiting();
        refuse(ticket, error);
        return false;
    }
}

void Queue::grant(Ticket ticket, Placement placement, const std::vector<Ticket>& overtaken) {
    placement.detach.clear(); // surplus devices stay, if it has more than requested by now
    const EnvironmentRecord& before = ledger_.get(ledger_.waits().at(ticket));
    const Wait& wait = ledger_.wait(ticket);
    WaitGranted granted{before.id,  before.uid, {},   clock_.wallNow() - wait.since,
                        wait.actor, wait.since, false};
    for (const Placement::Device& device : placement.attach)
        granted.devices.push_back(device.facts);
    try {
        ledger_.grant(ticket, placement, overtaken);
    } catch (const Error& error) {
        // Nothing changed, so the request continues to wait, and the grant is retried.
        log_.error("a waiting request could not be granted: {}", error.what());
        retry_ = scheduler_.after(writeRetryInterval, [this] { schedule(); });
        throw;
    }
    const Waiter waiter = std::move(waiters_.extract(ticket).mapped());
    granted.lasted = waiter.lasted;
    if (lending_ != nullptr)
        lending_->granted(ticket);
    compareWithExpected(ticket);
    events_.emit(granted);
    waiter.answer(std::nullopt);
}

void Queue::refuse(Ticket ticket, const Error& error) {
    auto node = waiters_.extract(ticket);
    if (node.empty())
        return;
    const Answer answer = std::move(node.mapped().answer);
    ledger_.endWait(ticket,
                    error.code() == ErrorCode::Timeout ? Reason::timeout() : Reason::refused());
    answer(error);
}

} // namespace genv::core
