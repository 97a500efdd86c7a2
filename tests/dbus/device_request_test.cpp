// SPDX-License-Identifier: LGPL-2.1-or-later
// The granted devices are those that polkit was asked about. If they would differ by then, the
// request is authorised again or refused.
#include "dbus/device_request.hpp"
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
            return placement;
        };
        request.target = [](const auto&) {
            policy::Target target;
            target.owner = alice;
            target.gpus = 1;
            return target;
        };
        request.stillHolds = [this](const core::Plan&) { return holds; };
        request.quota = [this](const auto&) { return violation; };
        request.apply = [this](const auto&, bool exempt) { given.push_back(exempt); };
        placement.emplace().attach = {{gpuFacts(0)}};
    }
    void carryOut(bool interactive = false) {
        const auto reply = call(alice, ":1.7", interactive);
        reply.guarded([&] { dbus::carryOut(context, reply, request); });
    }
    std::optional<ErrorCode> refusal() const {
        return refusals.empty() ? std::nullopt : std::optional(refusals[0].code);
    }

    dbus::DeviceRequest request;
    std::optional<core::Placement> placement;
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
    placement.reset();
    holds = false;
    carryOut();
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, AreAskedAboutAnewWhenTheDevicesChangedHands) {
    carryOut();
    holds = false;
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(authorizer.questions.size(), 2U);
    holds = true;
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, AreRefusedWhenTheyGoStaleAgainAndAgain) {
    holds = false;
    carryOut();
    int answers = 0;
    while (authorizer.answer(Verdict::Authorized))
        ++answers;
    EXPECT_EQ(answers, dbus::maxRequestAttempts);
    EXPECT_EQ(refusal(), ErrorCode::DeviceUnavailable);
    EXPECT_TRUE(given.empty());
}

TEST_F(DeviceRequests, AreRefusedAtOnceWhereAPersonAgreedToSomethingElse) {
    carryOut(true);
    holds = false;
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(authorizer.questions.size(), 1U);
    EXPECT_EQ(refusals.at(0).message,
              "the devices changed hands while authorisation was given; try again");
    EXPECT_TRUE(given.empty());
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

TEST_F(DeviceRequests, ThatFitBeforeTheSecondAnswerAreNotMarked) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    violation.reset();
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(DeviceRequests, OverAnotherLimitThanWasAskedAboutAreRefused) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    violation = "4g of memory, not 8g";
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(refusal(), ErrorCode::QuotaExceeded);
    EXPECT_EQ(refusals.at(0).message, "4g of memory, not 8g");
}

TEST_F(DeviceRequests, ThatGoStaleDuringTheSecondQuestionAreRefused) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    holds = false;
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(refusal(), ErrorCode::DeviceUnavailable);
}

} // namespace
} // namespace genv::tests
