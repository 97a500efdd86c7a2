// SPDX-License-Identifier: LGPL-2.1-or-later
// The order of the queue, as a decision.
#include "core/placement/fair_order.hpp"
#include "core/use/decayed_use.hpp"
#include "tests/core/fakes.hpp"
#include "tests/core/seeds.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>
#include <vector>

namespace genv::tests {
namespace {

using core::OrderRules;
using core::QueuedRequest;
using core::QueueOrder;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Tickets = std::vector<std::uint64_t>;

constexpr core::Uid dora = 1004;
constexpr core::BootTime orderedAt{hours{100}};

const OrderRules byArrival{QueueOrder::Fifo};
const OrderRules byUse{QueueOrder::Fair};

using Shares = std::map<core::Uid, core::UserShare>;

Tickets orderOf(const std::vector<QueuedRequest>& requests, const OrderRules& rules,
                const Shares& shares = {}) {
    Tickets tickets;
    for (const auto& place : core::orderedQueue(requests, rules, shares, orderedAt))
        tickets.push_back(place.request.ticket);
    return tickets;
}

TEST(FairOrder, IsByArrivalUnlessAnAdministratorWantsItFair) {
    const std::vector<QueuedRequest> requests{{1, alice}, {2, bob}, {3, alice}};
    const Shares shares{{alice, {1000}}, {bob, {1}}};
    EXPECT_EQ(orderOf(requests, byArrival, shares), (Tickets{1, 2, 3}));
    EXPECT_EQ(orderOf(requests, byUse, shares), (Tickets{2, 1, 3}));
}

TEST(FairOrder, IsByUseInProportionToTheWeight) {
    const std::vector<QueuedRequest> requests{{1, alice}, {2, bob}, {3, dora}};
    EXPECT_EQ(orderOf(requests, byUse, {{alice, {300}}, {bob, {200}}, {dora, {100}}}),
              (Tickets{3, 2, 1}));
    EXPECT_EQ(
        orderOf(requests, byUse, {{alice, {300, 1000}}, {bob, {200, 100}}, {dora, {100, 10}}}),
        (Tickets{1, 2, 3}));
}

TEST(FairOrder, IsByArrivalAmongUsersWhoUsedTheSame) {
    const std::vector<QueuedRequest> requests{{1, alice}, {2, bob}, {3, dora}, {4, alice}};
    EXPECT_EQ(orderOf(requests, byUse), (Tickets{1, 2, 3, 4}));
    // As two sums of the same use may differ.
    EXPECT_EQ(orderOf(requests, byUse, {{alice, {300.00000000001}}, {bob, {300}}, {dora, {300}}}),
              (Tickets{1, 2, 3, 4}));
}

TEST(FairOrder, PutsPrioritiesInOrderAmongOnesOwnOnly) {
    const std::vector<QueuedRequest> requests{
        {1, alice, 0, -5}, {2, bob}, {3, alice}, {4, bob, 0, 100}, {5, alice, 0, 7}};
    EXPECT_EQ(orderOf(requests, byUse, {{alice, {1}}}), (Tickets{4, 2, 5, 3, 1}));
    EXPECT_EQ(orderOf(requests, byUse, {{bob, {1}}}), (Tickets{5, 3, 1, 4, 2}));
}

// Otherwise a user could hold a place with a request that always yields to others of their own.
TEST(FairOrder, NeverMovesARequestBeforeAnEarlierOneOfAnotherUserBecauseOfItsPriority) {
    const std::vector<QueuedRequest> requests{{1, alice, 0, -100}, {2, bob}, {3, alice, 0, 100}};
    EXPECT_EQ(orderOf(requests, byArrival), (Tickets{2, 3, 1}));
    EXPECT_EQ(orderOf(requests, byUse), (Tickets{2, 3, 1}));
}

// Otherwise a user could wait for the own quota until nobody may overtake the request any more.
TEST(FairOrder, IsNotBoundedForARequestThatAQuotaHoldsBack) {
    std::vector<QueuedRequest> requests{{1, alice}, {2, alice}, {3, bob}};
    requests[0].isHeld = true;
    requests[0].overtakings = 20;
    requests[0].firstSince = orderedAt - hours{2};
    const Shares shares{{alice, {1000}}};
    const auto places = core::orderedQueue(requests, byUse, shares, orderedAt);
    ASSERT_EQ(orderOf(requests, byUse, shares), (Tickets{3, 1, 2}));
    EXPECT_FALSE(places[1].isFirst);
    EXPECT_TRUE(places[1].canBeOvertaken);
    EXPECT_TRUE(places[2].isFirst) << "it can start before the held one";
    requests[0].isHeld = false;
    EXPECT_EQ(orderOf(requests, byUse, shares), (Tickets{1, 3, 2}));
}

TEST(FairOrder, MarksTheNextRequestOfEachUserForEachPool) {
    const auto places = core::orderedQueue(
        {{1, alice}, {2, alice}, {3, alice, 7}, {4, alice, 7}, {5, bob}}, byUse, {}, orderedAt);
    Tickets firsts;
    for (const auto& place : places) {
        if (place.isFirst)
            firsts.push_back(place.request.ticket);
    }
    EXPECT_EQ(firsts, (Tickets{1, 3, 5}));
}

TEST(FairOrder, LetsNobodyOvertakeARequestThatWasOvertakenTooOften) {
    const Shares shares{{alice, {1000}}};
    EXPECT_EQ(orderOf({{1, bob}, {2, alice, 0, 0, 19}, {3, bob}}, byUse, shares),
              (Tickets{1, 3, 2}));
    EXPECT_EQ(orderOf({{1, bob}, {2, alice, 0, 0, 20}, {3, bob}}, byUse, shares),
              (Tickets{1, 2, 3}))
        << "earlier requests stay before it";
}

TEST(FairOrder, LetsNobodyOvertakeARequestThatHasBeenFirstForTooLong) {
    const Shares shares{{alice, {1000}}};
    const auto since = [](std::chrono::seconds time) { return orderedAt - time; };
    EXPECT_EQ(orderOf({{2, alice, 0, 0, 0, since(minutes{59})}, {3, bob}}, byUse, shares),
              (Tickets{3, 2}));
    EXPECT_EQ(orderOf({{2, alice, 0, 0, 0, since(minutes{60})}, {3, bob}}, byUse, shares),
              (Tickets{2, 3}));
}

TEST(FairOrder, ProtectsOnlyTheFirstRequestOfAUser) {
    const Shares shares{{alice, {1000}}};
    EXPECT_EQ(orderOf({{2, alice, 0, 0, 50}, {3, bob}, {4, alice, 0, 9}}, byUse, shares),
              (Tickets{3, 4, 2}));
}

TEST(FairOrder, KeepsRequestsThatCannotBeOvertakenInTheOrderOfTheirArrival) {
    const Shares shares{{alice, {1000}}, {dora, {2000}}};
    EXPECT_EQ(
        orderOf({{2, dora, 0, 0, 20}, {4, alice, 0, 0, 20}, {5, bob}, {3, bob}}, byUse, shares),
        (Tickets{2, 3, 4, 5}));
}

TEST(FairOrder, CountsAsOvertakenWhoWaitsBehindALaterRequestOfAnotherUser) {
    const auto places =
        core::orderedQueue({{1, alice}, {2, alice}, {3, dora, 7}, {5, bob}, {6, dora}}, byUse,
                           {{alice, {1000}}, {dora, {500}}}, orderedAt);
    ASSERT_EQ(places.front().request.ticket, 5U);
    std::vector<std::uint64_t> overtaken;
    for (const std::size_t index : core::overtakenBy(places, 0))
        overtaken.push_back(places[index].request.ticket);
    EXPECT_EQ(overtaken, Tickets{1}) << "2 is not first, 3 waits for others, 6 came later";
}

// One device, and users who always have eight waiting requests each.
class SharedDevice : public ::testing::TestWithParam<unsigned> {
  protected:
    static constexpr std::size_t users = 5;
    using Weights = std::array<std::uint32_t, users>;

    void ask(core::Uid uid) { requests.push_back({++lastTicket, uid}); }

    void noteFirsts() {
        for (const auto& place : core::orderedQueue(requests, rules, shares, clock)) {
            auto& request =
                *std::ranges::find(requests, place.request.ticket, &QueuedRequest::ticket);
            if (place.isFirst != request.firstSince.has_value())
                request.firstSince = place.isFirst ? std::optional(clock) : std::nullopt;
        }
    }

    // Grants the device to the request in front, for this time.
    core::Uid serve(std::chrono::seconds held) {
        noteFirsts();
        const auto places = core::orderedQueue(requests, rules, shares, clock);
        for (const std::size_t index : core::overtakenBy(places, 0)) {
            auto& other =
                *std::ranges::find(requests, places[index].request.ticket, &QueuedRequest::ticket);
            ++other.overtakings;
            mostOvertaken = std::max(mostOvertaken, other.overtakings);
        }
        const core::Uid uid = places.front().request.owner;
        longest = std::max(longest, lastTicket - places.front().request.ticket);
        std::erase_if(requests, [&](const QueuedRequest& request) {
            return request.ticket == places.front().request.ticket;
        });
        for (auto& [user, share] : shares)
            share.use = core::useAfter(share.use, user == uid ? 1 : 0, held, halfLife);
        clock += held;
        return uid;
    }

    // Returns how far each user's share of the device is from that of the weights, relative to it.
    std::array<double, users> errorsOfShares(const Weights& weights, int grants,
                                             std::chrono::seconds longestHolding) {
        requests.clear();
        shares.clear();
        for (std::size_t i = 0; i < users; ++i) {
            shares[static_cast<core::Uid>(i)].weight = weights.at(i);
            for (int wait = 0; wait < 8; ++wait)
                ask(static_cast<core::Uid>(i));
        }
        std::array<double, users> used{};
        for (int i = 0; i < grants; ++i) {
            const std::chrono::seconds held{
                std::uniform_int_distribution<std::int64_t>(1, longestHolding.count())(random)};
            const core::Uid uid = serve(held);
            used.at(uid) += static_cast<double>(held.count());
            ask(uid);
        }
        const double all = std::reduce(used.begin(), used.end());
        const double allWeights = std::reduce(weights.begin(), weights.end());
        std::array<double, users> errors{};
        for (std::size_t i = 0; i < users; ++i)
            errors.at(i) = std::abs(used.at(i) / all / (weights.at(i) / allWeights) - 1);
        return errors;
    }

    OrderRules rules = byUse;
    std::chrono::milliseconds halfLife = hours{7 * 24};
    std::mt19937 random{GetParam()};
    core::BootTime clock{hours{1}};
    std::vector<QueuedRequest> requests;
    std::uint64_t lastTicket = 0;
    std::uint64_t longest = 0; ///< in later requests
    std::uint32_t mostOvertaken = 0;
    Shares shares;
};

TEST_P(SharedDevice, ConvergesToTheWeights) {
    const auto errors = errorsOfShares({1000, 500, 200, 200, 100}, 10'000, seconds{120});
    EXPECT_LT(std::ranges::max(errors), 0.05);
}

// A request of hours is soon first for longer than the default MaxFirst=, and then nobody overtakes
// it any more, whatever its user's weight.
TEST_P(SharedDevice, NeedsALongMaxFirstForTheWeightsOfLongRequests) {
    rules.maxFirst = hours{24 * 30};
    halfLife = hours{24 * 365};
    const Weights weights{1000, 500, 200, 200, 100};
    EXPECT_LT(std::ranges::max(errorsOfShares(weights, 2'000, hours{8})), 0.05);
    rules.maxFirst = core::OrderRules{}.maxFirst;
    EXPECT_GT(std::ranges::max(errorsOfShares(weights, 2'000, hours{8})), 0.5);
}

// However small the weight and large the use, and however many others come.
TEST_P(SharedDevice, LetsNobodyStarve) {
    shares[0] = {1e9, 1};
    ask(0);
    for (core::Uid uid = 1; uid < users; ++uid) {
        shares[uid].weight = 1000;
        for (int wait = 0; wait < 8; ++wait)
            ask(uid);
    }
    int granted = 0;
    for (int i = 0; i < 2'000; ++i) {
        const core::Uid uid =
            serve(std::chrono::seconds{std::uniform_int_distribution<int>(1, 600)(random)});
        granted += uid == 0 ? 1 : 0;
        ask(uid);
    }
    EXPECT_GT(granted, 2'000 / 40);
    EXPECT_LE(mostOvertaken, rules.maxOvertaking);
    EXPECT_LE(longest, 8 * users * (rules.maxOvertaking + 1U));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SharedDevice, seedsTo(3));

} // namespace
} // namespace genv::tests
