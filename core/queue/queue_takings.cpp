// SPDX-License-Identifier: LGPL-2.1-or-later
// Which waiting requests take devices on loan. The queue is passed over in its order: a request
// that no quota holds back, and that free devices and loans complete now, takes. A request of a
// preemptible environment takes nothing; others may pass it as long as it can be overtaken. Nobody
// takes a device that an earlier request asks for, which cannot be passed and takes nothing itself.
#include "core/base/error.hpp"
#include "core/queue/queue.hpp"
#include "core/queue/unavailable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace genv::core {

struct Queue::TakingPass {
    KeptDevices kept;
    std::set<DeviceUuid> blocked = {}; ///< for the requests that come later
    std::vector<Ticket> passed = {};   ///< requests of preemptible environments
    bool isMissing = false;            ///< a request found no plan

    // A plan without victims is of use if its free devices are kept for requests that it passes.
    [[nodiscard]] bool needsTaking(const TakingPlan& plan) const {
        return !plan.victims.empty() || !passed.empty();
    }

    void block(const AttachRequest& request) {
        for (const auto& [index, device] : kept.devices().byIndex()) {
            if (isAskedFor(request, device))
                blocked.insert(device.facts.uuid);
        }
    }
};

void Queue::takeBy(Lending& lending) {
    lending_ = &lending;
    lending.onChanged([this] { schedule(); });
}

// An environment that was parked for others has no client.
void Queue::adoptResuming() {
    for (const auto& [ticket, id] : ledger_.waits()) {
        if (!ledger_.wait(ticket).resumes || waiters_.contains(ticket))
            continue;
        const EnvironmentRecord& environment = ledger_.get(id);
        waiters_.emplace(ticket, Waiter{id,
                                        {environment.uid, environment.user, {}},
                                        [](const std::optional<Error>& /*refusal*/) {},
                                        {},
                                        {},
                                        true});
    }
}

void Queue::planTakings(const std::vector<QueuePlace>& places) {
    const auto takesOnly = [this](const auto& entry) {
        return ledger_.wait(entry.first).takesOnly;
    };
    if (lending_ == nullptr ||
        (!lending_->isAnyLoan() && std::ranges::none_of(ledger_.waits(), takesOnly)))
        return;
    TakingPass pass{KeptDevices(ledger_, clock_.bootNow(), times_().keepFor)};
    for (const QueuePlace& place : places) {
        const Ticket ticket = place.request.ticket;
        if (!ledger_.waits().contains(ticket) || ledger_.get(ledger_.waits().at(ticket)).parent)
            continue;
        if (ledger_.wait(ticket).heldSince && ledger_.wait(ticket).taking)
            lending_->end(ticket, "the quota of its owner is used up");
        const bool hasTaking = ledger_.wait(ticket).taking.has_value();
        if ((hasTaking && !lending_->needsPlan(ticket)) || planTaking(place, pass)) {
            keep(ticket, pass.kept);
            continue;
        }
        if (!passOver(place, pass)) {
            keep(ticket, pass.kept);
            pass.block(ledger_.wait(ticket).request);
        }
        if (hasTaking)
            lending_->end(ticket, "");
        refuseTaker(ticket);
    }
    if (pass.isMissing)
        lending_->watch();
}

// Returns whether others may take before this request: a quota holds it back, or it is one of a
// preemptible environment and can be overtaken.
bool Queue::passOver(const QueuePlace& place, TakingPass& pass) const {
    const Ticket ticket = place.request.ticket;
    if (ledger_.wait(ticket).heldSince)
        return true;
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    const OrderRules rules = this->rules();
    const auto& since = place.request.firstSince;
    const bool canBeOvertaken =
        !place.isFirst || (place.request.overtakings < rules.maxOvertaking &&
                           (!since || clock_.bootNow() - *since < rules.maxFirst));
    if (environment.configuration.preemptible == Preemptible::No || !canBeOvertaken)
        return false;
    if (place.isFirst)
        pass.passed.push_back(ticket);
    return true;
}

// Returns whether the request takes, from now on or as before.
bool Queue::planTaking(const QueuePlace& place, TakingPass& pass) {
    const Ticket ticket = place.request.ticket;
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    const Wait& wait = ledger_.wait(ticket);
    if (!waiters_.contains(ticket) || wait.heldSince)
        return false;
    pass.isMissing = true;
    if (pass.blocked.size() == pass.kept.devices().byIndex().size())
        return false;
    const auto plan =
        takingPlan(wait.request, &environment, environment.configuration.preemptible, ticket, pass);
    if (!plan || !pass.needsTaking(*plan) || !isAdmitted(ticket, *plan, pass))
        return false;
    std::vector<Ticket> overtaken;
    for (const Ticket other : pass.passed) {
        const auto asksFor = [&](const DeviceUuid& uuid) {
            return isAskedFor(ledger_.wait(other).request, *pass.kept.devices().findUuid(uuid));
        };
        if (ledger_.get(ledger_.waits().at(other)).uid != environment.uid &&
            std::ranges::any_of(plan->devices, asksFor))
            overtaken.push_back(other);
    }
    try {
        lending_->begin(ticket, *plan, overtaken);
    } catch (const Error& error) {
        // Nothing changed, so the request continues to wait.
        log_.error("a taking could not begin: {}", error.what());
        retry_ = scheduler_.after(std::chrono::seconds{1}, [this] { schedule(); });
        return false;
    }
    pass.blocked.insert(plan->devices.begin(), plan->devices.end());
    return true;
}

std::optional<TakingPlan> Queue::takingPlan(const AttachRequest& request,
                                            const EnvironmentRecord* environment,
                                            Preemptible preemptible, std::optional<Ticket> ticket,
                                            const TakingPass& pass) const {
    if (!lending_->mayTake(preemptible))
        return std::nullopt;
    const auto isUsable = [&](const TableDevice& device) {
        if (pass.blocked.contains(device.facts.uuid))
            return false;
        return std::ranges::all_of(pass.kept.reservations().keepersOf(device.facts.uuid),
                                   [&](const Keeper& keeper) { return keeper.ticket == ticket; });
    };
    return core::planTaking(request, environment, pass.kept.devices(),
                            lending_->loansFor(preemptible, ticket), isUsable);
}

// Returns whether the limits of its owner allow what a request would take.
bool Queue::isAdmitted(Ticket ticket, const TakingPlan& plan, const TakingPass& pass) const {
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    const Wait& wait = ledger_.wait(ticket);
    Placement placement;
    placement.share = wait.request.share;
    for (const DeviceUuid& uuid : plan.devices)
        placement.attach.push_back({pass.kept.devices().findUuid(uuid)->facts});
    return wait.exempt ||
           !admitAttachment(ledger_, environment, limitsOf_(waiters_.at(ticket).owner), placement,
                            pass.kept.of(environment.uid, ticket));
}

// Selects the devices of a taking, once they are free and nobody else uses them. If all that a
// request needs became free elsewhere, it gets that.
std::optional<Placement> Queue::placeTaking(Ticket ticket, const KeptDevices& kept) const {
    const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
    const Wait& wait = ledger_.wait(ticket);
    const auto isFree = [&](const DeviceUuid& uuid) {
        const TableDevice* device = kept.devices().findUuid(uuid);
        return device != nullptr && device->isAvailable(wait.request.share) &&
               !device->isUsedOutside();
    };
    if (!std::ranges::all_of(wait.taking->devices, isFree)) {
        auto elsewhere = placeWaiting(ticket, kept);
        if (elsewhere && std::ranges::any_of(elsewhere->attach, &Placement::Device::occupied))
            return std::nullopt; // better devices become free in a moment
        return elsewhere;
    }
    AttachRequest request = wait.request;
    request.wanted = UuidsWanted{wait.taking->devices};
    return core::place(request, kept.devices(), requesterOf(environment, wait), {},
                       leaseEnd(&environment, wait.lifetime, kept.now()));
}

// Ends the wait of a request that waits only for its taking, and has none.
void Queue::refuseTaker(Ticket ticket) {
    if (!ledger_.waits().contains(ticket) || !ledger_.wait(ticket).takesOnly ||
        ledger_.wait(ticket).taking || !waiters_.contains(ticket))
        return;
    const std::string problem = lending_->problemOf(ticket);
    const std::string holders =
        describeHolders(ledger_.wait(ticket).request, ledger_.devices(), ledger_);
    refuse(ticket, {ErrorCode::DeviceUnavailable,
                    fmt::format("No available devices{}{}{}{}", holders.empty() ? "" : ": ",
                                holders, problem.empty() ? "" : "; ", problem)});
}

bool Queue::couldTake(const AttachRequest& request, Uid owner, Preemptible preemptible,
                      const EnvironmentRecord* taker) const {
    if (lending_ == nullptr || !lending_->isAnyLoan() || (taker != nullptr && taker->parent))
        return false;
    constexpr Ticket none = std::numeric_limits<Ticket>::max();
    TakingPass pass{KeptDevices(ledger_, clock_.bootNow(), times_().keepFor)};
    for (const QueuePlace& place : places(QueuedRequest{none, owner})) {
        const Ticket ticket = place.request.ticket;
        if (ticket == none)
            break;
        const EnvironmentRecord& environment = ledger_.get(ledger_.waits().at(ticket));
        if (environment.parent)
            continue;
        const bool isPassed = !ledger_.wait(ticket).taking && passOver(place, pass);
        if (isPassed)
            continue;
        keep(ticket, pass.kept);
        if (!ledger_.wait(ticket).taking)
            pass.block(ledger_.wait(ticket).request);
    }
    const auto plan = takingPlan(request, taker, preemptible, std::nullopt, pass);
    return plan && pass.needsTaking(*plan);
}

} // namespace genv::core
