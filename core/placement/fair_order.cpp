// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement/fair_order.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace genv::core {

namespace {

struct Candidate {
    QueuePlace place;
    double charge = 0;         ///< what its user has used, in proportion to the weight
    std::uint64_t arrival = 0; ///< not before that of an own request that stands before it
    std::size_t ownRank = 0;   ///< among the requests of its user
};

// Rounded, so that two users with the same use are equal, however their use was summed up.
double chargeOf(const UserShare& share) {
    constexpr double perSecond = 1000;
    return std::round(share.use * perSecond * defaultWeight / std::max(share.weight, 1U));
}

bool canBeOvertaken(const QueuePlace& place, const OrderRules& rules, BootTime now) {
    if (rules.order == QueueOrder::Fifo)
        return false;
    if (!place.isFirst)
        return true;
    const auto& since = place.request.firstSince;
    return place.request.overtakings < rules.maxOvertaking &&
           (!since || now - *since < rules.maxFirst);
}

// Sorts the requests of each user, and marks the first of each.
std::vector<Candidate> rankedByUser(const std::vector<QueuedRequest>& requests) {
    std::map<std::pair<Uid, std::uint64_t>, std::vector<QueuedRequest>> byUser;
    for (const QueuedRequest& request : requests)
        byUser[{request.owner, request.pool}].push_back(request);
    std::vector<Candidate> candidates;
    candidates.reserve(requests.size());
    for (auto& [user, own] : byUser) {
        std::ranges::sort(own, [](const QueuedRequest& one, const QueuedRequest& other) {
            return std::pair(-one.priority, one.ticket) < std::pair(-other.priority, other.ticket);
        });
        std::uint64_t arrival = 0;
        const auto first = std::ranges::find(own, false, &QueuedRequest::isHeld);
        for (std::size_t rank = 0; rank < own.size(); ++rank) {
            arrival = std::max(arrival, own[rank].ticket);
            const bool isFirst = own.begin() + std::ptrdiff_t(rank) == first;
            candidates.push_back({{own[rank], isFirst}, 0, arrival, rank});
        }
    }
    return candidates;
}

// Moves requests that cannot be overtaken any more before all later ones.
std::vector<QueuePlace> withoutOvertaking(const std::vector<Candidate>& sorted) {
    std::vector<const Candidate*> settled; // those requests
    for (const Candidate& candidate : sorted) {
        if (!candidate.place.canBeOvertaken)
            settled.push_back(&candidate);
    }
    std::ranges::sort(settled, {}, &Candidate::arrival);
    std::vector<QueuePlace> order;
    order.reserve(sorted.size());
    auto next = settled.begin();
    for (const Candidate& candidate : sorted) {
        for (; next != settled.end() && (*next)->arrival <= candidate.arrival; ++next)
            order.push_back((*next)->place);
        if (candidate.place.canBeOvertaken)
            order.push_back(candidate.place);
    }
    return order;
}

} // namespace

std::string toString(QueueOrder order) {
    return order == QueueOrder::Fair ? "fair" : "fifo";
}

std::vector<QueuePlace> orderedQueue(const std::vector<QueuedRequest>& requests,
                                     const OrderRules& rules,
                                     const std::map<Uid, UserShare>& shares, BootTime now) {
    std::vector<Candidate> candidates = rankedByUser(requests);
    const bool isFair = rules.order == QueueOrder::Fair;
    for (Candidate& candidate : candidates) {
        candidate.place.canBeOvertaken = canBeOvertaken(candidate.place, rules, now);
        const auto share = shares.find(candidate.place.request.owner);
        if (isFair && share != shares.end())
            candidate.charge = chargeOf(share->second);
    }
    std::ranges::sort(candidates, [](const Candidate& one, const Candidate& other) {
        return std::tuple(one.charge, one.arrival, one.ownRank) <
               std::tuple(other.charge, other.arrival, other.ownRank);
    });
    if (isFair)
        return withoutOvertaking(candidates);
    std::vector<QueuePlace> order;
    order.reserve(candidates.size());
    for (const Candidate& candidate : candidates)
        order.push_back(candidate.place);
    return order;
}

std::vector<std::size_t> overtakenBy(const std::vector<QueuePlace>& order, std::size_t index) {
    const QueuedRequest& granted = order[index].request;
    std::vector<std::size_t> overtaken;
    for (std::size_t behind = index + 1; behind < order.size(); ++behind) {
        const QueuedRequest& other = order[behind].request;
        if (order[behind].isFirst && other.owner != granted.owner && other.pool == granted.pool &&
            other.ticket < granted.ticket)
            overtaken.push_back(behind);
    }
    return overtaken;
}

} // namespace genv::core
