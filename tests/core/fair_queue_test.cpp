// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue in fair order: what users have used, who is served next, and who is overtaken.
#include "tests/core/queue_fixture.hpp"

#include <cmath>
#include <random>

namespace genv::tests {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Ids = std::vector<std::string>;

constexpr core::Uid fiona = 1005;

class UserUses : public Queueing {
  protected:
    [[nodiscard]] double used(core::Uid uid) const { return use.of(uid, clock.bootNow()); }
};

TEST_F(UserUses, AreGpuSecondsHeld) {
    haveGpus(4);
    activate("10", alice);
    activate("20", bob);
    attachCount("10", 2);
    attachCount("20", 1, gigabytes(4)); // of 16
    clock.pass(seconds{100});
    EXPECT_NEAR(used(alice), 200, 0.1);
    EXPECT_NEAR(used(bob), 25, 0.1);
    detach("10");
    clock.pass(seconds{100});
    EXPECT_NEAR(used(alice), 200, 0.1);
    EXPECT_EQ(used(fiona), 0);
}

TEST_F(UserUses, HalveEveryHalfLife) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    clock.pass(seconds{1000});
    detach("10");
    const double before = used(alice);
    clock.pass(hours{7 * 24});
    EXPECT_NEAR(used(alice), before / 2, 1e-9);
    clock.pass(hours{21 * 24});
    EXPECT_NEAR(used(alice), before / 16, 1e-9);
}

TEST_F(UserUses, DoNotDependOnHowOftenTheyAreComputed) {
    const auto halfLife = std::chrono::milliseconds{hours{7 * 24}};
    double often = 0;
    for (int i = 0; i < 100'000; ++i)
        often = core::useAfter(often, 1.5, seconds{30}, halfLife);
    const double once = core::useAfter(0, 1.5, seconds{3'000'000}, halfLife);
    EXPECT_NEAR(often / once, 1, 1e-9);
}

TEST_F(UserUses, CountADeviceOnceForAUser) {
    haveGpus(1);
    activate("10", alice);
    activate("20", alice);
    attachCount("10", 1);
    attachCount("20", 1, std::nullopt, true);
    clock.pass(seconds{100});
    EXPECT_NEAR(used(alice), 100, 0.1);
    detach("10");
    clock.pass(seconds{100});
    EXPECT_NEAR(used(alice), 200, 0.1);
}

TEST_F(UserUses, CountTheDevicesOfAChildAsThoseOfItsParent) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    core::NewEnvironment child = newEnvironment("20", bob, 20);
    child.parent = "10";
    ledger.activate(std::move(child),
                    queue.place({core::CountWanted{1}, {}, {}, false}, nullptr, std::nullopt,
                                ledger.find("10")),
                    bob);
    clock.pass(seconds{100});
    EXPECT_NEAR(used(alice), 100, 0.1);
    EXPECT_EQ(used(bob), 0);
}

TEST_F(UserUses, KeepTheirPastWhenTheHalfLifeChanges) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    clock.pass(seconds{1000});
    const double before = used(alice);
    use.setHalfLife(hours{1});
    EXPECT_NEAR(used(alice), before, 1e-9);
    detach("10");
    clock.pass(hours{1});
    EXPECT_NEAR(used(alice), before / 2, 1e-9);
}

TEST_F(UserUses, DoNotFollowTheWallClock) {
    haveGpus(1);
    activate("10", alice);
    attachCount("10", 1);
    for (const auto jump : {hours{72}, hours{-144}, hours{72}}) {
        clock.wall += jump;
        clock.pass(seconds{100});
    }
    EXPECT_NEAR(used(alice), 300, 0.1);
}

// One device, which alice holds for a while.
class FairQueue : public Queueing {
  protected:
    FairQueue() {
        orderRules.order = core::QueueOrder::Fair;
        haveGpus(1);
        activate("10", alice);
        attachCount("10", 1);
        clock.pass(seconds{100});
    }
    void wait(const std::string& id, core::Uid uid, std::int32_t priority = 0) {
        activate(id, uid);
        ask(id, {core::CountWanted{1}, {}, {}, false}, {}, {false, {}, priority});
        scheduler.turn();
    }
    [[nodiscard]] Ids inOrder() const {
        Ids ids;
        for (const auto ticket : queue.order())
            ids.push_back(ledger.waits().at(ticket));
        return ids;
    }
    [[nodiscard]] core::RequestStanding standing(const std::string& id) const {
        return queue.standing(ledger.get(id).waits.back().ticket);
    }
};

// Through the real queue, ledger and use: five users always have four waiting requests each.
TEST_F(FairQueue, SharesADeviceByTheWeights) {
    const std::map<core::Uid, std::uint32_t> wanted{
        {2000, 300}, {2001, 200}, {2002, 100}, {2003, 100}, {2004, 100}};
    weights = wanted;
    for (const auto& [uid, weight] : wanted) {
        for (int i = 0; i < 4; ++i)
            wait(fmt::format("{}{}", uid, i), uid);
    }
    detach("10");
    std::mt19937 random{1};
    std::map<core::Uid, double> used;
    double all = 0;
    for (int i = 0; i < 200; ++i) {
        const Ids holders = ledger.holdersOf("GPU-0");
        ASSERT_EQ(holders.size(), 1U);
        const core::Uid uid = ledger.get(holders[0]).uid;
        const seconds held{std::uniform_int_distribution<int>(1, 120)(random)};
        used[uid] += static_cast<double>(held.count());
        all += static_cast<double>(held.count());
        clock.pass(held);
        detach(holders[0]);
        ask(holders[0], {core::CountWanted{1}, {}, {}, false});
        scheduler.turn();
    }
    for (const auto& [uid, weight] : wanted)
        EXPECT_NEAR(used[uid] / all / (weight / 800.0), 1, 0.1) << uid;
}

TEST_F(FairQueue, ServesWhoUsedLess) {
    wait("11", alice);
    wait("12", alice);
    wait("20", bob);
    wait("30", fiona);
    EXPECT_EQ(inOrder(), (Ids{"20", "30", "11", "12"}));
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    clock.pass(seconds{500});
    detach("20");
    EXPECT_TRUE(isGranted("30"));
    clock.pass(seconds{50});
    detach("30");
    EXPECT_TRUE(isGranted("11"));
}

TEST_F(FairQueue, IsByArrivalAgainOnceTheSettingsSaySo) {
    wait("11", alice);
    wait("20", bob);
    orderRules.order = core::QueueOrder::Fifo;
    queue.settingsChanged();
    EXPECT_EQ(inOrder(), (Ids{"11", "20"}));
    EXPECT_FALSE(standing("11").canBeOvertaken);
    detach("10");
    EXPECT_TRUE(isGranted("11"));
}

TEST_F(FairQueue, LooksUpTheShareOfAUserOnceAndNoneByArrival) {
    wait("11", alice);
    wait("12", alice);
    wait("20", bob);
    weightLookups.clear();
    EXPECT_EQ(inOrder(), (Ids{"20", "11", "12"}));
    EXPECT_EQ(weightLookups, (std::map<core::Uid, int>{{alice, 1}, {bob, 1}}));
    orderRules.order = core::QueueOrder::Fifo;
    weightLookups.clear();
    EXPECT_EQ(inOrder(), (Ids{"11", "12", "20"}));
    EXPECT_TRUE(weightLookups.empty());
}

TEST_F(FairQueue, PutsPrioritiesInOrderAmongOnesOwn) {
    wait("11", alice);
    wait("12", alice, 5);
    wait("20", bob, -100);
    EXPECT_EQ(inOrder(), (Ids{"20", "12", "11"}));
    EXPECT_EQ(standing("12").priority, 5);
}

TEST_F(FairQueue, TellsTheStandingOfARequest) {
    weights[alice] = 250;
    wait("11", alice);
    wait("12", alice);
    wait("20", bob);
    EXPECT_NEAR(standing("11").share.use, 100, 0.1);
    EXPECT_EQ(standing("11").share.weight, 250U);
    EXPECT_EQ(standing("11").firstSince, clock.bootNow());
    EXPECT_EQ(standing("12").firstSince, std::nullopt);
    detach("10");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(standing("11").overtakings, 1U);
    EXPECT_EQ(standing("12").overtakings, 0U) << "it is not the next one of its user";
    EXPECT_TRUE(standing("11").canBeOvertaken);
}

TEST_F(FairQueue, OvertakesARequestForALimitedNumberOfTimes) {
    orderRules.maxOvertaking = 3;
    weights[alice] = 1;
    wait("11", alice);
    std::string holder = "10";
    for (int i = 0; i < 5; ++i) {
        const std::string id = std::to_string(100 + i);
        wait(id, bob + static_cast<core::Uid>(i));
        if (i == 3)
            break;
        detach(holder);
        ASSERT_TRUE(isGranted(id));
        holder = id;
    }
    EXPECT_EQ(standing("11").overtakings, 3U);
    EXPECT_FALSE(standing("11").canBeOvertaken);
    detach(holder);
    EXPECT_TRUE(isGranted("11"));
}

// Several devices become free in the same turn.
TEST_F(FairQueue, StopsOvertakingWithinATurn) {
    haveGpus(4);
    activate("15", fiona);
    attachCount("15", 3);
    orderRules.maxOvertaking = 2;
    wait("11", alice);
    for (int i = 0; i < 4; ++i)
        wait(std::to_string(100 + i), 2000 + static_cast<core::Uid>(i));
    ledger.detach("10", {}, alice);
    ledger.detach("15", {}, fiona);
    scheduler.turn();
    EXPECT_TRUE(isGranted("100"));
    EXPECT_TRUE(isGranted("101"));
    EXPECT_TRUE(isGranted("11"));
    EXPECT_TRUE(isGranted("102"));
    EXPECT_FALSE(isGranted("103"));
}

TEST_F(FairQueue, OvertakesARequestForALimitedTime) {
    wait("11", alice);
    clock.pass(minutes{59});
    wait("20", bob);
    EXPECT_EQ(inOrder(), (Ids{"20", "11"}));
    clock.pass(minutes{1});
    EXPECT_EQ(inOrder(), (Ids{"11", "20"}));
}

TEST_F(FairQueue, CountsNoOvertakingByARequestForAnotherDevice) {
    haveGpus(2);
    activate("15", fiona);
    attachIndices("15", {1});
    activate("11", alice);
    ask("11", {core::IndicesWanted{{0}}, {}, {}, false});
    activate("20", bob);
    ask("20", {core::IndicesWanted{{1}}, {}, {}, false});
    scheduler.turn();
    detach("15");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(standing("11").overtakings, 0U);
}

TEST_F(FairQueue, KeepsFreeDevicesForWhoUsedLess) {
    haveGpus(2);
    activate("15", fiona);
    attachIndices("15", {1});
    activate("11", alice);
    ask("11", {core::CountWanted{2}, {}, {}, false});
    activate("20", bob);
    ask("20", {core::CountWanted{2}, {}, {}, false});
    scheduler.turn();
    detach("15");
    activate("40", fiona);
    EXPECT_EQ(attachNow("40", {core::CountWanted{1}, {}, {}, false}),
              core::ErrorCode::DeviceUnavailable);
    detach("10");
    EXPECT_TRUE(isGranted("20"));
}

// The order changes while a device is free and kept for somebody else.
TEST_F(FairQueue, IsServedWhenOnlyUseChangesTheOrder) {
    haveGpus(2);
    activate("25", bob);
    attachIndices("25", {1});
    clock.pass(seconds{50});
    ledger.detach("25", {}, bob);
    weights[alice] = 1000;
    activate("11", alice);
    ask("11", {core::CountWanted{2}, {}, {}, false}); // keeps GPU 1
    wait("20", bob);
    EXPECT_FALSE(isGranted("20"));
    clock.pass(seconds{900}); // alice still holds GPU 0
    scheduler.pass(seconds{10});
    scheduler.turn();
    EXPECT_TRUE(isGranted("20"));
}

TEST_F(FairQueue, OvertakesNobodyWhoseDocumentCannotBeWritten) {
    wait("11", alice);
    wait("20", bob);
    store.writesUntilFailure = 1;
    ledger.detach("10", {}, alice);
    scheduler.turn();
    EXPECT_FALSE(isGranted("20"));
    EXPECT_EQ(ledger.get("11").waits.back().overtakings, 0U);
    store.writesUntilFailure = -1;
    scheduler.pass(seconds{1});
    scheduler.turn();
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(ledger.get("11").waits.back().overtakings, 1U);
}

} // namespace
} // namespace genv::tests
