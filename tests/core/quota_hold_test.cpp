// SPDX-License-Identifier: LGPL-2.1-or-later
// Requests that may be held for a quota wait while they would exceed it. Others pass them, nothing
// is kept for them, and they are served in their place once their owner has given enough back.
#include "core/limits/admission.hpp"
#include "core/limits/limit_use.hpp"
#include "core/queue/quota_hold.hpp"
#include "tests/core/queue_fixture.hpp"

namespace genv::tests {
namespace {

using core::AttachRequest;
using core::Bytes;
using core::CountWanted;
using core::ErrorCode;
using core::IndicesWanted;
using core::QuotaHold;
using Ids = std::vector<std::string>;

const AttachRequest one{CountWanted{1}, {}, {}, false};
const AttachRequest two{CountWanted{2}, {}, {}, false};

// Requests as the service makes them: those above a quota are held back at once.
class QuotaHolds : public Queueing {
  protected:
    static constexpr core::Uid carol = 1003;

    std::optional<core::Queue::Ticket> hold(const std::string& id, const AttachRequest& request,
                                            std::optional<std::chrono::milliseconds> timeout = {},
                                            bool isHeld = true) {
        const core::EnvironmentRecord& environment = ledger.get(id);
        core::Plan plan = queue.placeOrWait(request, &environment);
        ledger.attach(id, core::PlannedWait{request, core::placementOf(plan), true, isHeld},
                      environment.uid);
        const auto ticket = ledger.get(id).waits.back().ticket;
        await(queue, id, ticket, timeout);
        scheduler.turn();
        return ticket;
    }
    void activateAll(const Ids& ids, core::Uid owner) {
        for (const std::string& id : ids)
            activate(id, owner);
    }
    void startWaiting(const std::string& id, core::Uid owner, const AttachRequest& request) {
        const core::Plan plan = queue.placeOrWait(request, core::Requester(owner));
        core::NewEnvironment wanted =
            newEnvironment(id, owner, static_cast<core::Pid>(std::stoul(id)));
        ledger.activate(std::move(wanted),
                        core::PlannedWait{request, core::placementOf(plan), true, true}, owner);
        await(queue, id, ledger.get(id).waits.back().ticket);
        scheduler.turn();
    }
};

TEST_F(QuotaHolds, AreServedInTheirPlaceWhenTheQuotaIsFreed) {
    haveGpus(4);
    limits.maxDevices = 2;
    activateAll({"10", "11", "12", "13"}, alice);
    activate("20", bob);
    attachCount("10", 1);
    attachCount("11", 1);
    hold("12", one);
    hold("13", one);
    EXPECT_EQ(waiting(), (Ids{"12", "13"}));
    EXPECT_TRUE(answers.empty()) << "neither granted nor refused";
    EXPECT_EQ(attachNow("20", two), ErrorCode::Internal) << "nothing is kept for them";
    detach("10");
    EXPECT_TRUE(isGranted("12"));
    EXPECT_EQ(waiting(), Ids{"13"});
    ledger.deactivate("11", alice);
    scheduler.turn();
    EXPECT_TRUE(isGranted("13"));
    expectNothingTwice(ledger);
}

TEST_F(QuotaHolds, LetOthersPassAndKeepTheirArrivalTime) {
    haveGpus(2);
    limits.maxDevices = 1;
    activateAll({"10", "11"}, alice);
    activateAll({"20", "21"}, bob);
    activate("30", carol);
    attachCount("10", 1);
    attachCount("30", 1);
    const auto held = hold("11", one);
    const auto since = ledger.wait(*held).since;
    clock.pass(std::chrono::minutes{5});
    askCount("20", 1);
    hold("21", one);
    detach("30");
    EXPECT_TRUE(isGranted("20"));
    EXPECT_EQ(ledger.wait(*held).since, since);
    EXPECT_EQ(waiting(), (Ids{"11", "21"}));
    detach("10");
    EXPECT_TRUE(isGranted("11"));
    EXPECT_EQ(waiting(), Ids{"21"});
}

TEST_F(QuotaHolds, CountFromTheirArrivalAndWhatIsKeptForEarlierRequests) {
    haveGpus(4);
    limits.maxDevices = 3;
    activateAll({"10", "11", "12", "13"}, alice);
    activate("20", bob);
    askCount("20", 2);
    const auto first = hold("10", {core::CountWanted{3}, {}, {}, false}, {}, false);
    const auto second = hold("11", two);
    const auto third = hold("12", two);
    EXPECT_EQ(queue.heldBy(*first), std::nullopt) << "it waits for devices";
    EXPECT_EQ(queue.heldBy(*second), (QuotaHold{"MaxDevicesPerUser", 2, 3}));
    EXPECT_EQ(queue.heldBy(*third), (QuotaHold{"MaxDevicesPerUser", 2, 3}));
    ledger.attach("13",
                  core::PlannedWait{one,
                                    core::placementOf(queue.placeOrWait(one, &ledger.get("13"))),
                                    true, true},
                  alice);
    const core::Wait& fourth = ledger.get("13").waits.back();
    EXPECT_EQ(fourth.heldSince, fourth.began) << "before anybody looked at it";
}

TEST_F(QuotaHolds, AreServedWhenTheLimitIsRaised) {
    haveGpus(4);
    limits.maxDevices = 1;
    activateAll({"10", "11"}, alice);
    attachCount("10", 1);
    hold("11", one);
    limits.maxDevices = 2;
    queue.settingsChanged();
    scheduler.turn();
    EXPECT_TRUE(isGranted("11"));
}

TEST_F(QuotaHolds, AreHeldAgainInsteadOfRefusedWhenTheyWouldBeServed) {
    haveGpus(3);
    limits.maxDevices = 2;
    activateAll({"10", "11"}, alice);
    activate("20", bob);
    ledger.attach("20", queue.placeOrWait(two, &ledger.get("20")), bob);
    attachCount("10", 1);
    const auto ticket = hold("11", one, {}, false);
    EXPECT_FALSE(ledger.wait(*ticket).heldSince);
    limits.maxDevices = 1;
    detach("20");
    EXPECT_TRUE(answers.empty());
    EXPECT_TRUE(ledger.wait(*ticket).heldSince);
    EXPECT_EQ(queue.heldBy(*ticket), (QuotaHold{"MaxDevicesPerUser", 1, 1}));
    detach("10");
    EXPECT_TRUE(isGranted("11"));
}

TEST_F(QuotaHolds, WithoutTheOptionAreRefusedAsBefore) {
    haveGpus(2);
    activateAll({"10", "11"}, alice);
    activate("20", bob);
    attachCount("10", 1);
    attachCount("20", 1);
    askCount("11", 1);
    limits.maxDevices = 1;
    detach("20");
    EXPECT_EQ(refusalOf("11"), ErrorCode::QuotaExceeded);
}

TEST_F(QuotaHolds, DoNotCountTheTimeTowardsMaxWait) {
    haveGpus(2);
    limits.maxDevices = 1;
    times.maxWait = std::chrono::hours{1};
    activateAll({"10", "11"}, alice);
    activate("20", bob);
    attachCount("10", 1);
    attachCount("20", 1);
    const auto ticket = hold("11", one);
    const auto pass = [&](std::chrono::minutes time) {
        clock.pass(time);
        scheduler.pass(time);
        scheduler.turn();
    };
    pass(std::chrono::hours{48});
    EXPECT_EQ(waiting(), Ids{"11"});
    limits.maxDevices = 2;
    queue.settingsChanged();
    scheduler.turn();
    EXPECT_EQ(ledger.wait(*ticket).heldFor, std::chrono::hours{48});
    pass(std::chrono::minutes{59});
    EXPECT_EQ(waiting(), Ids{"11"});
    pass(std::chrono::minutes{1});
    EXPECT_EQ(refusalOf("11"), ErrorCode::Timeout);
}

TEST_F(QuotaHolds, EndWithTheTimeoutOfTheCallerAndSayWhy) {
    haveGpus(2);
    limits.maxDevices = 1;
    activateAll({"10", "11"}, alice);
    attachCount("10", 1);
    hold("11", one, std::chrono::minutes{5});
    clock.pass(std::chrono::minutes{5});
    scheduler.pass(std::chrono::minutes{5});
    EXPECT_EQ(refusalOf("11"), ErrorCode::Timeout);
    EXPECT_EQ(reasons["11"], "no device became free within 5min; user holds 1 GPU and may have 1 "
                             "(MaxDevicesPerUser)");
}

TEST_F(QuotaHolds, CountTowardsNoEnvironmentQuotaUntilTheyAreGranted) {
    haveGpus(4);
    limits.maxEnvironments = 1;
    activate("10", alice);
    startWaiting("11", alice, one);
    startWaiting("12", alice, one);
    EXPECT_EQ(core::holdingsOf(ledger, alice).environments, 1U);
    EXPECT_EQ(queue.heldBy(ledger.get("11").waits[0].ticket),
              (QuotaHold{"MaxEnvironmentsPerUser", 1, 1}));
    const core::Plan plan = queue.placeOrWait(one, &ledger.get("11"));
    EXPECT_TRUE(core::admitAttachment(ledger, ledger.get("11"), limits, plan))
        << "devices of another request make it count, too";
    ledger.deactivate("10", alice);
    scheduler.turn();
    EXPECT_TRUE(isGranted("11"));
    EXPECT_EQ(waiting(), Ids{"12"});
    EXPECT_EQ(core::holdingsOf(ledger, alice).environments, 1U);
}

TEST_F(QuotaHolds, TakeADeviceThatTheQuotaAllowsWhereTheFirstOneIsForbidden) {
    haveGpus(2);
    limits.maxGpuMemoryPerDevice = gigabytes(4);
    activateAll({"10", "11", "12"}, alice);
    const AttachRequest share{CountWanted{1}, {}, gigabytes(3), false};
    attach("10", share);
    hold("11", share);
    EXPECT_TRUE(isGranted("11"));
    EXPECT_EQ(devicesOf("11"), std::vector<core::DeviceIndex>{1});
    const auto ticket = hold("12", share);
    EXPECT_EQ(queue.heldBy(*ticket),
              (QuotaHold{"MaxGpuMemoryPerDevice", gigabytes(3).count, gigabytes(4).count}));
    detach("10");
    EXPECT_TRUE(isGranted("12"));
}

TEST_F(QuotaHolds, ForMemoryAndOfAnEnvironmentWaitForBothKindsOfQuota) {
    haveGpus(4);
    activateAll({"10", "11"}, alice);
    limits.maxDevicesPerEnvironment = 1;
    attachCount("10", 1);
    const auto named = hold("10", {IndicesWanted{{3}}, {}, {}, false});
    EXPECT_EQ(queue.heldBy(*named), (QuotaHold{"MaxDevicesPerEnvironment", 1, 1}));
    limits.maxDevicesPerEnvironment.reset();
    limits.maxGpuMemory = gpuFacts(0).totalMemory;
    const auto whole = hold("11", one);
    EXPECT_EQ(queue.heldBy(*whole)->limit, "MaxGpuMemoryPerUser");
    queue.cancel(*named);
    detach("10");
    EXPECT_TRUE(isGranted("11"));
}

TEST_F(QuotaHolds, KeepNothingForARequestThatWaitsForOneDeviceMore) {
    haveGpus(4);
    limits.maxDevices = 2;
    activateAll({"10", "11"}, alice);
    activate("20", bob);
    attachCount("10", 1);
    hold("11", two); // could use one of the free devices, but not two
    EXPECT_TRUE(queue.keptFor(alice).empty());
    EXPECT_EQ(attachNow("20", {CountWanted{2}, {}, {}, false}), ErrorCode::Internal);
}

TEST_F(LedgerTest, RecognizesARequestThatNoUseOfTheQuotaSatisfies) {
    struct Case {
        const char* what;
        AttachRequest request;
        core::Limits limits;
        bool fits;
    };
    haveGpus(3);
    const Bytes all = gpuFacts(0).totalMemory;
    const auto with = [](auto member, auto value) {
        core::Limits limits;
        limits.*member = value;
        return limits;
    };
    using L = core::Limits;
    const std::vector<Case> cases{
        {"as many as the quota", two, with(&L::maxDevices, 2U), true},
        {"more than the quota", two, with(&L::maxDevices, 1U), false},
        {"a quota of 0", one, with(&L::maxDevices, 0U), false},
        {"named ones", {IndicesWanted{{0, 2}}, {}, {}, false}, with(&L::maxDevices, 1U), false},
        {"no environment", one, with(&L::maxEnvironments, 0U), false},
        {"one environment", one, with(&L::maxEnvironments, 1U), true},
        {"the environment's", two, with(&L::maxDevicesPerEnvironment, 1U), false},
        {"all memory", one, with(&L::maxGpuMemory, all), true},
        {"too much memory", two, with(&L::maxGpuMemory, all), false},
        {"a share too large",
         {CountWanted{1}, {}, gigabytes(2), false},
         with(&L::maxGpuMemoryPerDevice, gigabytes(1)),
         false},
    };
    for (const Case& each : cases)
        EXPECT_EQ(core::fitsQuota(each.request, ledger.devices(), true, each.limits), each.fits)
            << each.what;
}

TEST(QuotaHold, IsDescribedForOneselfAndForOthers) {
    EXPECT_EQ(core::describeOwnHold({"MaxDevicesPerUser", 2, 2}),
              "you hold 2 GPUs and may have 2 (MaxDevicesPerUser)");
    EXPECT_EQ(core::describeOwnHold({"MaxDevicesPerEnvironment", 1, 1}),
              "you hold 1 GPU in one environment and may have 1 there (MaxDevicesPerEnvironment)");
    EXPECT_EQ(core::describeOwnHold({"MaxEnvironmentsPerUser", 3, 3}),
              "you have 3 environments and may have 3 (MaxEnvironmentsPerUser)");
    EXPECT_EQ(core::describeHold({"MaxGpuMemoryPerUser", gigabytes(40).count, gigabytes(48).count},
                                 "alice"),
              "alice reserves 40 GB of GPU memory and may have 48 GB (MaxGpuMemoryPerUser)");
}

} // namespace
} // namespace genv::tests
