// SPDX-License-Identifier: LGPL-2.1-or-later
// The granted devices are those that polkit was asked about. If they would differ by then, the
// request is authorized again or refused.
#include "dbus/calls/device_request.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using policy::Verdict;

// A request for one device. The test changes the circumstances.
class DeviceRequests : public ContextTest {
  protected:
    DeviceRequests() {
        request.plan = [this]() -> std::optional<core::Plan> {
            ++planned;
            if (inTheWay)
                throw core::Error(*inTheWay);
            return plan;
        };
        request.target = [](const auto& asked) {
            policy::Target target;
            target.owner = alice;
            target.gpus = 1;
            if (asked && dbus::waitIn(asked) == nullptr)
                target.devices = {core::placementOf(*asked).attach.at(0).facts.index};
            return target;
        };
        request.stillHolds = [this](const core::Plan&) { return holds; };
        request.quota = [this](const auto&) { return violation; };
        request.apply = [this](const auto&, bool exempt) { given.push_back(exempt); };
        move(0);
        holds = true;
    }
    void carryOut(bool interactive = false) {
        const auto reply = call(alice, ":1.7", interactive);
        reply.guarded([&] { dbus::carryOut(context, reply, request); });
    }
    std::optional<ErrorCode> refusal() const {
        return refusals.empty() ? std::nullopt : std::optional(refusals[0].code);
    }

    dbus::DeviceRequest request;
    // Another request gets the planned device, and this one is planned for another.
    void move(core::DeviceIndex index, bool overSubscribed = false) {
        holds = false;
        plan = core::Placement{};
        std::get<core::Placement>(*plan).attach = {{gpuFacts(index), overSubscribed}};
    }

    std::optional<core::Plan> plan;
    const std::optional<core::Plan> held = core::PlannedWait{{}, {}, true, true};
    std::optional<core::Error> inTheWay;
    core::QuotaViolation violation;
    bool holds = true;
    int planned = 0;
    std::vector<bool> given; ///< for each device, whether it exceeds a limit
};

TEST_F(DeviceRequests, AreGivenOnceTheyAreAllowed) {
    carryOut();
    EXPECT_TRUE(given.empty());
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
    EXPECT_EQ(authorizer.questions.size(), 1U);
}

TEST_F(DeviceRequests, OfNoDevicesCannotGoStale) {
    plan.reset();
    holds = false;
    carryOut();
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, AreAskedAboutAnewWhenTheDevicesChangedHands) {
    carryOut();
    move(1);
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    ASSERT_EQ(authorizer.questions.size(), 2U) << "rules may decide on the devices";
    EXPECT_EQ(authorizer.questions[1].details.at("devices"), "1");
    holds = true;
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, AreGivenWhenTheAnswerCoversTheNewPlan) {
    carryOut();
    holds = false; // and the same device is planned again
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
    EXPECT_EQ(authorizer.questions.size(), 1U);
}

TEST_F(DeviceRequests, AreAskedAboutAnewWhenTheSameDeviceWouldBeOverSubscribedNow) {
    carryOut();
    move(0, true);
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(authorizer.questions.size(), 2U);
}

TEST_F(DeviceRequests, AreNeverGivenUpWhileTheDevicesOnlyMove) {
    carryOut();
    for (core::DeviceIndex index = 1; index < 100; ++index) {
        move(index);
        EXPECT_TRUE(authorizer.answer(Verdict::Authorized));
    }
    EXPECT_EQ(refusal(), std::nullopt);
    holds = true;
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, AreAskedAboutAnewWhenNobodyWasPrompted) {
    carryOut(true);
    move(1);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(authorizer.questions.size(), 2U) << "the call allows a prompt, but there was none";
    EXPECT_EQ(refusal(), std::nullopt);
}

TEST_F(DeviceRequests, AreRefusedAtOnceWhereAPersonAgreedToSomethingElse) {
    carryOut(true);
    authorizer.answer(Verdict::InteractionRequired);
    move(1);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(authorizer.questions.size(), 2U) << "the same question, without and with a prompt";
    EXPECT_EQ(refusals.at(0).message,
              "the devices changed hands while authorization was given; try again");
    EXPECT_TRUE(given.empty());
}

TEST_F(DeviceRequests, AreGivenWhereAPersonAgreedToWhatIsPlannedAgain) {
    carryOut(true);
    authorizer.answer(Verdict::InteractionRequired);
    holds = false;
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, ThatMayWaitAreNeverRefusedAsStale) {
    request.mayWait = true;
    carryOut(true);
    authorizer.answer(Verdict::InteractionRequired);
    holds = false;
    const core::Placement expected = core::placementOf(*plan);
    plan = core::PlannedWait{{core::CountWanted{1}, {}, {}, false}, expected};
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(refusal(), std::nullopt);
    ASSERT_EQ(authorizer.questions.size(), 3U) << "the person did not approve a wait for any GPU";
    EXPECT_FALSE(authorizer.questions[2].details.contains("devices"));
    holds = true;
    authorizer.answer(Verdict::InteractionRequired);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, SayWhatIsInTheWayByNow) {
    carryOut();
    holds = false;
    inTheWay.emplace(ErrorCode::NoSuchEnvironment, "environment 20 ended in the meantime");
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(refusal(), ErrorCode::NoSuchEnvironment);
}

TEST_F(DeviceRequests, OverALimitAreAskedAboutASecondTimeAndMarked) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    ASSERT_EQ(authorizer.questions.size(), 2U);
    EXPECT_EQ(authorizer.questions[1].action, policy::Action::ExceedLimits);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{true});
}

TEST_F(DeviceRequests, OverAQuotaAreHeldBackAndPromptNobody) {
    violation = "2 devices, not 3";
    request.hold = [this] { return held; };
    request.apply = [this](const auto& applied, bool exempt) {
        given.push_back(exempt);
        EXPECT_TRUE(dbus::waitIn(applied) != nullptr && dbus::waitIn(applied)->isHeld);
    };
    carryOut(true);
    authorizer.answer(Verdict::Authorized);
    authorizer.answer(Verdict::InteractionRequired);
    EXPECT_EQ(authorizer.questions.size(), 2U);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, ThatMayExceedAQuotaAreNotHeldBack) {
    violation = "2 devices, not 3";
    request.hold = [this] { return held; };
    carryOut();
    authorizer.answer(Verdict::Authorized);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{true});
}

TEST_F(DeviceRequests, ThatNoUseOfAQuotaAllowsAreRefusedAsBefore) {
    violation = "2 devices, not 3";
    request.hold = [] { return std::nullopt; };
    carryOut();
    authorizer.answer(Verdict::Authorized);
    authorizer.answer(Verdict::Denied);
    EXPECT_EQ(refusal(), ErrorCode::QuotaExceeded);
}

TEST_F(DeviceRequests, ThatFitBeforeTheSecondAnswerAreNotMarked) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    violation.reset();
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, OverAnotherLimitThanWasAskedAboutAreAskedAboutAnew) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    violation = "2 devices, not 4";
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(refusal(), std::nullopt);
    EXPECT_EQ(authorizer.questions.size(), 3U);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{true});
}

TEST_F(DeviceRequests, OverAnotherLimitThanAPersonAgreedToAreRefused) {
    violation = "2 devices, not 3";
    carryOut(true);
    authorizer.answer(Verdict::Authorized);
    authorizer.answer(Verdict::InteractionRequired);
    violation = "4g of memory, not 8g";
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(refusal(), ErrorCode::QuotaExceeded);
    EXPECT_EQ(refusals.at(0).message, "4g of memory, not 8g");
}

TEST_F(DeviceRequests, ThatGoStaleDuringTheSecondQuestionAreAskedAboutAnew) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    move(1);
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(refusal(), std::nullopt);
    holds = true;
    authorizer.answer(Verdict::Authorized);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{true});
}

TEST_F(DeviceRequests, ThatGoStaleWhileAPersonIsAskedAboutTheLimitAreRefused) {
    violation = "2 devices, not 3";
    carryOut(true);
    authorizer.answer(Verdict::Authorized);
    authorizer.answer(Verdict::InteractionRequired);
    move(1);
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(refusal(), ErrorCode::DeviceUnavailable);
}

} // namespace
} // namespace genv::tests
