// SPDX-License-Identifier: LGPL-2.1-or-later
// The granted devices are those that polkit was asked about. If they would differ by then, the
// request is asked about again or refused.
#include "tests/core/requests_fixture.hpp"

namespace genv::tests {
namespace {

using core::Approval;
using core::ErrorCode;

class RequestDecisions : public Requesting {
  protected:
    // Bob's environment gets exactly these devices.
    void giveBob(const Indices& indices) {
        if (!devicesOf("20").empty())
            ledger.detach("20", {}, bob);
        attachIndices("20", indices);
    }
    static Indices devicesIn(const std::optional<core::Plan>& plan) {
        Indices indices;
        if (plan && core::waitIn(plan) == nullptr) {
            for (const auto& device : core::placementOf(*plan).attach)
                indices.push_back(device.facts.index);
        }
        return indices;
    }
    // Expects a grant, and returns whether it exceeds a limit.
    bool expectGrant(const Indices& devices) {
        const auto grant = decideFor<core::RequestGrant>();
        EXPECT_EQ(devicesIn(grant.plan), devices);
        return grant.exempt;
    }
};

TEST_F(RequestDecisions, GrantWhatWasAllowed) {
    const auto question = decideFor<core::DeviceQuestion>();
    EXPECT_EQ(devicesIn(question.plan), Indices{0});
    EXPECT_EQ(question.target.environment, "10");
    EXPECT_EQ(question.target.owner, alice);
    EXPECT_EQ(question.target.gpus, 1U);
    progress.allow(Approval::Rules);
    EXPECT_FALSE(expectGrant({0}));
}

TEST_F(RequestDecisions, AreUnansweredQuestionsUntilTheyAreAllowed) {
    EXPECT_EQ(decideFor<core::DeviceQuestion>().target.devices, Indices{0});
    EXPECT_EQ(decideFor<core::DeviceQuestion>().target.devices, Indices{0});
}

TEST_F(RequestDecisions, WithoutDevicesCannotGoStale) {
    start(30);
    const auto question = decideFor<core::DeviceQuestion>();
    EXPECT_EQ(question.plan, std::nullopt);
    EXPECT_EQ(question.target.environment, "30");
    progress.allow(Approval::Rules);
    giveBob({0, 1});
    EXPECT_EQ(decideFor<core::RequestGrant>().plan, std::nullopt);
}

TEST_F(RequestDecisions, AskAnewWhenTheDevicesChangedHands) {
    allow({0});
    giveBob({0});
    allow({1});
    EXPECT_FALSE(expectGrant({1}));
}

TEST_F(RequestDecisions, GrantWhatIsPlannedAgainIfTheAnswerCoversIt) {
    ask({core::IndicesWanted{{0}}, {}, {}, false});
    for (const Approval by : {Approval::Rules, Approval::Person}) {
        progress = {};
        allow({0}, by);
        attachIndices("10", {1}); // the plan was for an environment without devices
        EXPECT_FALSE(expectGrant({0}));
        ledger.detach("10", {}, alice);
    }
}

TEST_F(RequestDecisions, AskAnewWhenTheSameDeviceWouldBeOverSubscribedNow) {
    ask({core::IndicesWanted{{0}}, {}, {}, true});
    allow({0});
    giveBob({0});
    const auto question = decideFor<core::DeviceQuestion>();
    EXPECT_EQ(question.target.devices, Indices{0});
    EXPECT_EQ(question.target.withoutConsent.holders,
              (std::vector<core::DeviceHolder>{{bob, ledger.get("20").user}}));
}

TEST_F(RequestDecisions, AskAnewAlsoIfItsHolderConsentsToThat) {
    ask({core::IndicesWanted{{0}}, {}, {}, true});
    allow({0});
    activate("21", bob, {{}, {}, {}, true, core::Preemptible::No});
    attachIndices("21", {0});
    const auto question = decideFor<core::DeviceQuestion>();
    EXPECT_EQ(question.target.devices, Indices{0});
    EXPECT_TRUE(question.target.withoutConsent.holders.empty());
}

TEST_F(RequestDecisions, NeverGiveUpWhileTheDevicesOnlyMove) {
    allow({0});
    for (core::DeviceIndex turn = 0; turn < 100; ++turn) {
        giveBob({turn % 2});
        allow({1 - turn % 2});
    }
    EXPECT_FALSE(expectGrant({0}));
}

TEST_F(RequestDecisions, RefuseWherePersonsAgreedToSomethingElse) {
    allow({0}, Approval::Person);
    giveBob({0});
    std::string text;
    EXPECT_EQ(refusal(&text), ErrorCode::DeviceUnavailable);
    EXPECT_EQ(text, "the devices changed hands while authorization was given; try again");
}

TEST_F(RequestDecisions, OnRequestsThatMayWaitAskAPersonAgain) {
    request.terms.wait = true;
    allow({0}, Approval::Person);
    giveBob({0, 1});
    const auto question = decideFor<core::DeviceQuestion>();
    EXPECT_NE(core::waitIn(question.plan), nullptr);
    EXPECT_TRUE(question.target.devices.empty());
    EXPECT_EQ(question.target.gpus, 1U);
    progress.allow(Approval::Person);
    EXPECT_NE(core::waitIn(decideFor<core::RequestGrant>().plan), nullptr);
}

TEST_F(RequestDecisions, SayWhatIsInTheWayByNow) {
    allow({0});
    ledger.deactivate("10", alice);
    EXPECT_EQ(refusal(), ErrorCode::NoSuchEnvironment);
    activate("10", alice);
    EXPECT_EQ(refusal(), ErrorCode::NoSuchEnvironment) << "it is another one";
}

TEST_F(RequestDecisions, OverALimitAskASecondTimeAndMarkTheGrant) {
    limits.maxDevices = 0;
    allow({0});
    const auto question = decideFor<core::LimitQuestion>();
    EXPECT_EQ(devicesIn(question.asked.plan), Indices{0});
    EXPECT_FALSE(question.hasOtherWay);
    EXPECT_NE(question.violation.find("MaxDevicesPerUser"), std::string::npos);
    progress.allow(Approval::Rules);
    EXPECT_TRUE(expectGrant({0}));
}

TEST_F(RequestDecisions, OverAQuotaHoldTheRequestBack) {
    limits.maxDevices = 1;
    activate("11", alice);
    attachIndices("11", {1});
    request.terms.wait = request.terms.holdForQuota = true;
    allow({0});
    EXPECT_TRUE(decideFor<core::LimitQuestion>().hasOtherWay);
    progress.refuseToExceed();
    const auto grant = decideFor<core::RequestGrant>();
    ASSERT_NE(core::waitIn(grant.plan), nullptr);
    EXPECT_TRUE(core::waitIn(grant.plan)->isHeld);
    EXPECT_FALSE(grant.exempt);
}

TEST_F(RequestDecisions, OnAHeldRequestThatFitsByNowGrantIt) {
    limits.maxDevices = 1;
    activate("11", alice);
    attachIndices("11", {1});
    request.terms.wait = request.terms.holdForQuota = true;
    allow({0});
    EXPECT_TRUE(decideFor<core::LimitQuestion>().hasOtherWay);
    ledger.detach("11", {}, alice);
    progress.refuseToExceed();
    EXPECT_FALSE(expectGrant({0}));
}

TEST_F(RequestDecisions, ThatMayExceedAQuotaHoldNothingBack) {
    limits.maxDevices = 1;
    activate("11", alice);
    attachIndices("11", {1});
    request.terms.wait = request.terms.holdForQuota = true;
    allow({0});
    allowToExceed();
    EXPECT_TRUE(expectGrant({0}));
}

TEST_F(RequestDecisions, OfferNoWaitThatNoUseOfAQuotaEnds) {
    limits.maxDevices = 0;
    request.terms.wait = request.terms.holdForQuota = true;
    allow({0});
    EXPECT_FALSE(decideFor<core::LimitQuestion>().hasOtherWay);
}

TEST_F(RequestDecisions, OnRequestsThatFitBeforeTheSecondAnswerMarkNothing) {
    limits.maxDevices = 0;
    allow({0});
    allowToExceed();
    limits.maxDevices = 1;
    EXPECT_FALSE(expectGrant({0}));
}

TEST_F(RequestDecisions, OverAnotherLimitThanWasAskedAboutAskAnew) {
    limits.maxDevices = 0;
    allow({0});
    allowToExceed();
    limits = {};
    limits.maxGpuMemory = gigabytes(1);
    const auto question = decideFor<core::LimitQuestion>();
    EXPECT_NE(question.violation.find("MaxGpuMemoryPerUser"), std::string::npos)
        << question.violation;
    progress.allow(Approval::Rules);
    EXPECT_TRUE(expectGrant({0}));
}

TEST_F(RequestDecisions, OverAnotherLimitThanPersonsAgreedToRefuse) {
    limits.maxDevices = 0;
    allow({0});
    allowToExceed(Approval::Person);
    limits = {};
    limits.maxGpuMemory = gigabytes(1);
    EXPECT_EQ(refusal(), ErrorCode::QuotaExceeded);
}

TEST_F(RequestDecisions, ThatGoStaleDuringTheSecondQuestionAskBothAnew) {
    limits.maxDevices = 0;
    allow({0});
    allowToExceed();
    giveBob({0});
    allow({1});
    allowToExceed();
    EXPECT_TRUE(expectGrant({1}));
}

TEST_F(RequestDecisions, ThatGoStaleWhilePersonsAreAskedAboutTheLimitRefuse) {
    limits.maxDevices = 0;
    allow({0});
    allowToExceed(Approval::Person);
    giveBob({0});
    EXPECT_EQ(refusal(), ErrorCode::DeviceUnavailable);
}

TEST_F(RequestDecisions, AwaitTheEndsOfEnvironmentsSomeTimesBeforeTheyRefuse) {
    giveBob({0, 1});
    isSettling = true;
    int ends = 0;
    for (; refusal() == ErrorCode::Internal; ++ends)
        ASSERT_LT(ends, 100);
    EXPECT_EQ(ends, 8);
    EXPECT_EQ(refusal(), ErrorCode::DeviceUnavailable);
    isSettling = false;
    progress = {};
    EXPECT_EQ(refusal(), ErrorCode::DeviceUnavailable);
}

TEST_F(RequestDecisions, AwaitTheEndsOfEnvironmentsOnceBeforeALimitCounts) {
    limits.maxDevices = 0;
    isSettling = true;
    allow({0});
    decideFor<core::AwaitEnds>();
    allowToExceed();
    EXPECT_TRUE(expectGrant({0}));
}

TEST_F(RequestDecisions, AwaitASampleOfADeviceThatOthersUse) {
    core::Observation observation = gpus(2);
    processes.add(900, bob);
    observation.processes = {computeProcess(900, bob, {"GPU-0", "GPU-1"})};
    ledger.observed(observation);
    decideFor<core::AwaitSample>();
    allow({0});
    EXPECT_FALSE(expectGrant({0}));
}

TEST_F(RequestDecisions, OnTheLoanOfAnEnvironmentEndItWithinTheLimits) {
    limits.maxDevices = 0;
    limits.maxPreemptibleDevices = 2;
    activate("12", alice, {{}, {}, {}, false, core::Preemptible::Park});
    ask({core::CountWanted{1}, {}, {}, false}, "12");
    allow({0});
    EXPECT_FALSE(expectGrant({0}));
    attachIndices("12", {0});
    ask({core::CountWanted{2}, {}, {}, false}, "12");
    std::get<core::WantedDevices>(request.wanted).preemptible = core::Preemptible::No;
    allow({1});
    allowToExceed();
    EXPECT_TRUE(expectGrant({1}));
}

} // namespace
} // namespace genv::tests
