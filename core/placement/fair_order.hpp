// SPDX-License-Identifier: LGPL-2.1-or-later
// The order of the queue: by arrival, or by what each user has used so far in proportion to the
// user's weight (fair). A decision without side effects: core/queue/queue.hpp acts on it.
//
// Requests of one user have an order of their own: by priority, then by arrival. The next one of
// them that no quota holds back is *first*. Others overtake a first request for a limited number of
// times and a limited time. From then on the request stands before every later one.
#pragma once

#include "core/base/process.hpp"
#include "core/base/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace genv::core {

enum class QueueOrder {
    Fifo, ///< by arrival
    Fair, ///< by use and weight
};

/// Formats an order as genvd.conf and the bus do: "fifo", "fair".
std::string toString(QueueOrder order);

inline constexpr std::uint32_t defaultWeight = 100;
inline constexpr std::uint32_t maxWeight = 1000;
inline constexpr std::int32_t maxPriority = 100; ///< the lowest priority is its negative

struct OrderRules {
    QueueOrder order = QueueOrder::Fifo;
    std::uint32_t maxOvertaking = 20; ///< how often a first request can be overtaken
    /// How long a request can be overtaken, since it is first.
    std::chrono::milliseconds maxFirst{std::chrono::hours{1}};
};

/// A waiting request, as far as it matters for the order.
struct QueuedRequest {
    std::uint64_t ticket = 0; ///< order of arrival
    Uid owner = 0;
    /// The devices from which it chooses: 0 for those of the machine, otherwise the sequence number
    /// of the parent environment.
    std::uint64_t pool = 0;
    std::int32_t priority = 0;
    std::uint32_t overtakings = 0; ///< how often it was overtaken so far
    std::optional<BootTime> firstSince = std::nullopt;
    bool isHeld = false; ///< by a quota: others do not overtake it, since it could not start
};

/// The part of a user in the order.
struct UserShare {
    double use = 0; ///< GPU seconds, decayed
    std::uint32_t weight = defaultWeight;
};

/// The place of a request in the order.
struct QueuePlace {
    QueuedRequest request;
    bool isFirst = false;       ///< the next one of its user, for these devices
    bool canBeOvertaken = true; ///< by later requests of other users
};

/// Returns the requests in the order in force. A user without a share has used nothing. A priority
/// never moves a request before an earlier request of another user: the other requests of its user
/// yield to it.
std::vector<QueuePlace> orderedQueue(const std::vector<QueuedRequest>& requests,
                                     const OrderRules& rules,
                                     const std::map<Uid, UserShare>& shares, BootTime now);

/// Returns the indices of the first requests that the request at this index overtakes if it is
/// granted now: earlier ones of other users, for the same devices, that stand behind it.
std::vector<std::size_t> overtakenBy(const std::vector<QueuePlace>& order, std::size_t index);

} // namespace genv::core
