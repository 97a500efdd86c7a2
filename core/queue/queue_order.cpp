// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue asks core/placement/fair_order.hpp for its order, and records the facts for later
// turns.
#include "core/queue/queue.hpp"

#include <algorithm>

namespace genv::core {

OrderRules Queue::rules() const {
    return ordering_.rules ? ordering_.rules() : OrderRules{};
}

// If a client has not called again, only the name of its owner is known.
UserShare Queue::shareOf(Ticket ticket, const EnvironmentRecord& environment) const {
    const auto waiter = waiters_.find(ticket);
    const UserInfo owner = waiter != waiters_.end()
                               ? waiter->second.owner
                               : UserInfo{environment.uid, environment.user, {}};
    return {ordering_.use != nullptr ? ordering_.use->of(environment.uid, clock_.bootNow()) : 0,
            ordering_.weightOf ? ordering_.weightOf(owner) : defaultWeight};
}

std::vector<QueuePlace> Queue::places(const std::optional<QueuedRequest>& extra) const {
    const OrderRules rules = this->rules();
    std::vector<QueuedRequest> requests;
    requests.reserve(ledger_.waits().size());
    std::map<Uid, UserShare> shares;
    for (const auto& [ticket, id] : ledger_.waits()) {
        const EnvironmentRecord& environment = ledger_.get(id);
        const Wait& wait = ledger_.wait(ticket);
        const EnvironmentRecord* parent = parentOf(environment);
        requests.push_back({ticket, environment.uid, parent != nullptr ? parent->sequence : 0,
                            wait.priority, wait.overtakings, wait.firstSince,
                            wait.heldSince.has_value()});
        if (rules.order == QueueOrder::Fair && !shares.contains(environment.uid))
            shares.emplace(environment.uid, shareOf(ticket, environment));
    }
    if (extra) {
        requests.push_back(*extra);
        shares.try_emplace(
            extra->owner,
            UserShare{
                ordering_.use != nullptr ? ordering_.use->of(extra->owner, clock_.bootNow()) : 0,
                ordering_.weightOf ? ordering_.weightOf({extra->owner, "", {}}) : defaultWeight});
    }
    return orderedQueue(requests, rules, shares, clock_.bootNow());
}

std::vector<Queue::Ticket> Queue::order() const {
    std::vector<Ticket> tickets;
    for (const QueuePlace& place : places())
        tickets.push_back(place.request.ticket);
    return tickets;
}

RequestStanding Queue::standing(Ticket ticket) const {
    const std::vector<QueuePlace> places = this->places();
    return standingOf(*std::ranges::find_if(
        places, [&](const QueuePlace& other) { return other.request.ticket == ticket; }));
}

RequestStanding Queue::standingOf(const QueuePlace& place) const {
    const QueuedRequest& request = place.request;
    return {shareOf(request.ticket, ledger_.get(ledger_.waits().at(request.ticket))),
            request.priority, request.overtakings,
            place.isFirst ? request.firstSince : std::nullopt, place.canBeOvertaken};
}

// Records since when each first request is first, which bounds how long it can be overtaken. By
// arrival, only requests of preemptible environments can be, by takings.
void Queue::noteFirsts(const std::vector<QueuePlace>& places) {
    const bool isFair = rules().order == QueueOrder::Fair;
    const BootTime now = clock_.bootNow();
    for (const QueuePlace& place : places) {
        const EnvironmentRecord& environment =
            ledger_.get(ledger_.waits().at(place.request.ticket));
        if (!isFair && environment.configuration.preemptible == Preemptible::No)
            continue;
        if (place.isFirst != place.request.firstSince.has_value())
            ledger_.noteFirst(place.request.ticket,
                              place.isFirst ? std::optional(now) : std::nullopt);
    }
}

// Returns the requests that the placement overtakes: those that ask for one of its devices.
std::vector<Queue::Ticket> Queue::overtaken(const std::vector<QueuePlace>& places,
                                            std::size_t index, const Placement& placement,
                                            const DeviceTable& devices) const {
    std::vector<Ticket> tickets;
    if (rules().order != QueueOrder::Fair)
        return tickets;
    for (const std::size_t behind : overtakenBy(places, index)) {
        const Ticket ticket = places[behind].request.ticket;
        if (ledger_.waits().contains(ticket) &&
            std::ranges::any_of(placement.attach, [&](const Placement::Device& placed) {
                return isAskedFor(ledger_.wait(ticket).request,
                                  *devices.findUuid(placed.facts.uuid));
            }))
            tickets.push_back(ticket);
    }
    return tickets;
}

} // namespace genv::core
