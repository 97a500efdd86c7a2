// SPDX-License-Identifier: LGPL-2.1-or-later
// What was asked about is what is given: where it would be something else by then, it is asked
// about anew, or refused.
#include "dbus/claim.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using policy::Verdict;

// A claim of one device whose circumstances the test changes.
class Claims : public ContextTest {
  protected:
    Claims() {
        claim.plan = [this]() -> std::optional<core::Plan> {
            ++planned;
            if (inTheWay)
                throw core::Error(*inTheWay);
            return placement;
        };
        claim.target = [](const auto&) {
            policy::Target target;
            target.owner = alice;
            target.gpus = 1;
            return target;
        };
        claim.stillHolds = [this](const core::Plan&) { return holds; };
        claim.quota = [this](const auto&) { return violation; };
        claim.apply = [this](const auto&, bool exempt) { given.push_back(exempt); };
        placement.emplace().attach = {{gpuFacts(0)}};
    }
    void carryOut(bool interactive = false) {
        const auto reply = call(alice, ":1.7", interactive);
        reply.guarded([&] { dbus::carryOut(context, reply, claim); });
    }
    std::optional<ErrorCode> refusal() const {
        return refusals.empty() ? std::nullopt : std::optional(refusals[0].code);
    }

    dbus::Claim claim;
    std::optional<core::Placement> placement;
    std::optional<core::Error> inTheWay;
    core::QuotaViolation violation;
    bool holds = true;
    int planned = 0;
    std::vector<bool> given; ///< whether over a limit, each
};

TEST_F(Claims, AreGivenOnceTheyAreAllowed) {
    carryOut();
    EXPECT_TRUE(given.empty());
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
    EXPECT_EQ(authorizer.questions.size(), 1U);
}

TEST_F(Claims, OfNoDevicesCannotGoStale) {
    placement.reset();
    holds = false;
    carryOut();
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(Claims, AreAskedAboutAnewWhenTheDevicesChangedHands) {
    carryOut();
    holds = false;
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(authorizer.questions.size(), 2U);
    holds = true;
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(Claims, AreRefusedWhenTheyGoStaleAgainAndAgain) {
    holds = false;
    carryOut();
    int answers = 0;
    while (authorizer.answer(Verdict::Authorized))
        ++answers;
    EXPECT_EQ(answers, dbus::mostClaimAttempts);
    EXPECT_EQ(refusal(), ErrorCode::DeviceUnavailable);
    EXPECT_TRUE(given.empty());
}

TEST_F(Claims, AreRefusedAtOnceWhereAPersonAgreedToSomethingElse) {
    carryOut(true);
    holds = false;
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(authorizer.questions.size(), 1U);
    EXPECT_EQ(refusals.at(0).message,
              "the devices changed hands while authorisation was given; try again");
    EXPECT_TRUE(given.empty());
}

TEST_F(Claims, SayWhatIsInTheWayByNow) {
    carryOut();
    holds = false;
    inTheWay.emplace(ErrorCode::NoSuchEnvironment, "environment 20 ended in the meantime");
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(refusal(), ErrorCode::NoSuchEnvironment);
}

TEST_F(Claims, OverALimitAreAskedAboutASecondTimeAndMarked) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    ASSERT_EQ(authorizer.questions.size(), 2U);
    EXPECT_EQ(authorizer.questions[1].action, policy::Action::ExceedLimits);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{true});
}

TEST_F(Claims, ThatFitBeforeTheSecondAnswerAreNotMarked) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    violation.reset();
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(given, std::vector<bool>{false});
}

TEST_F(Claims, OverAnotherLimitThanWasAskedAboutAreRefused) {
    violation = "2 devices, not 3";
    carryOut();
    authorizer.answer(Verdict::Authorized);
    violation = "4g of memory, not 8g";
    authorizer.answer(Verdict::Authorized);
    EXPECT_TRUE(given.empty());
    EXPECT_EQ(refusal(), ErrorCode::QuotaExceeded);
    EXPECT_EQ(refusals.at(0).message, "4g of memory, not 8g");
}

TEST_F(Claims, ThatGoStaleDuringTheSecondQuestionAreRefused) {
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
