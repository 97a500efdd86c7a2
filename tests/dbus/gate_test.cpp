// SPDX-License-Identifier: LGPL-2.1-or-later
// A caller passes the gate only with a positive answer, whatever else the answer is. A question
// belongs to its caller.
#include "core/settings/caps.hpp"
#include "tests/dbus/context_fixture.hpp"

#include <tuple>

namespace genv::tests {
namespace {

using core::ErrorCode;
using policy::Verdict;

class GateTest : public ContextTest {
  protected:
    static policy::Target of(core::Uid owner) {
        policy::Target target;
        target.environment = "20";
        target.owner = owner;
        target.ownerName = owner == alice ? "alice" : "bob";
        return target;
    }
    void pass(const dbus::Reply<>& reply, core::Uid owner = alice) {
        reply.guarded([&] { gate.pass(reply, of(owner), [this] { ++passed; }); });
    }
    void passQuota(const dbus::Reply<>& reply) {
        reply.guarded(
            [&] { gate.passQuota(reply, of(alice), "2 devices, not 3", [this] { ++passed; }); });
    }

    int passed = 0;
};

TEST_F(GateTest, LetsThroughOnYesAndNotBefore) {
    pass(call());
    EXPECT_EQ(passed, 0);
    EXPECT_EQ(gate.pending(), 1U);
    ASSERT_EQ(authorizer.questions.size(), 1U);
    EXPECT_EQ(authorizer.questions[0].action, policy::Action::ManageOwn);
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(passed, 1);
    EXPECT_EQ(gate.pending(), 0U);
}

TEST_F(GateTest, AsksNothingOfRoot) {
    pass(call(0), bob);
    passQuota(call(0));
    EXPECT_EQ(passed, 2);
    EXPECT_TRUE(authorizer.questions.empty());
}

TEST_F(GateTest, TakesEveryOtherAnswerForANoAndSaysWhich) {
    const std::string asked =
        "detach GPUs from environment 20 of bob (dev.genv.manager.manage-others)";
    const std::vector<std::tuple<Verdict, ErrorCode, std::string>> answers{
        {Verdict::Denied, ErrorCode::AccessDenied, "not authorized to " + asked},
        {Verdict::Unavailable, ErrorCode::AccessDenied,
         "not authorized to " + asked + ": polkit does not answer"},
        {Verdict::TimedOut, ErrorCode::AccessDenied, "not authorized in time to " + asked},
        {Verdict::InteractionRequired, ErrorCode::InteractiveAuthorizationRequired,
         "an administrator's password is needed to " + asked}};
    for (const auto& [verdict, code, text] : answers) {
        refusals.clear();
        pass(call(), bob);
        authorizer.answer(verdict);
        EXPECT_EQ(passed, 0);
        EXPECT_EQ(refusalText(), text);
        EXPECT_EQ(refusals.at(0).code, code);
        EXPECT_EQ(refusals.at(0).missing, policy::Action::ManageOthers);
        EXPECT_EQ(refusals.at(0).target, of(bob));
        EXPECT_EQ(refusals.at(0).caller, alice);
    }
}

TEST_F(GateTest, SaysWhichLimitStandsInTheWay) {
    for (const Verdict verdict : {Verdict::Denied, Verdict::Unavailable, Verdict::TimedOut}) {
        refusals.clear();
        passQuota(call());
        authorizer.answer(verdict);
        EXPECT_EQ(refusalText(), "2 devices, not 3");
        EXPECT_EQ(refusals.at(0).code, ErrorCode::QuotaExceeded);
        EXPECT_EQ(refusals.at(0).missing, policy::Action::ExceedLimits);
    }
    refusals.clear();
    passQuota(call());
    authorizer.answer(Verdict::InteractionRequired);
    EXPECT_EQ(refusals.at(0).code, ErrorCode::InteractiveAuthorizationRequired);
    EXPECT_EQ(refusalText(), "2 devices, not 3; an administrator's password would allow it "
                             "(dev.genv.manager.exceed-limits)");
    EXPECT_EQ(passed, 0);
    passQuota(call());
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(passed, 1);
}

TEST_F(GateTest, PromptsOnlyWherePolkitWantsAPersonAndTheCallAllowsIt) {
    pass(call(alice, ":1.7", true));
    EXPECT_TRUE(authorizer.answer(Verdict::Authorized));
    EXPECT_EQ(authorizer.wereInteractive, std::vector<bool>{false}) << "nobody is needed";
    authorizer.wereInteractive.clear();
    refusals.clear();
    pass(call(alice, ":1.7", false));
    EXPECT_TRUE(authorizer.answer(Verdict::InteractionRequired));
    EXPECT_EQ(authorizer.wereInteractive, std::vector<bool>{false});
    EXPECT_EQ(refusals.at(0).code, ErrorCode::InteractiveAuthorizationRequired);
    authorizer.wereInteractive.clear();
    pass(call(alice, ":1.7", true));
    EXPECT_TRUE(authorizer.answer(Verdict::InteractionRequired));
    EXPECT_EQ(authorizer.wereInteractive, (std::vector<bool>{false, true}));
    EXPECT_TRUE(authorizer.answer(Verdict::Authorized));
    EXPECT_EQ(passed, 2);
}

TEST_F(GateTest, SaysWhetherAPersonApproved) {
    std::vector<dbus::Approval> approvals;
    for (const bool prompts : {false, true}) {
        const auto reply = call(alice, ":1.7", true);
        reply.guarded([&] {
            gate.pass(reply, of(alice),
                      dbus::Gate::Proceed([&](dbus::Approval by) { approvals.push_back(by); }));
        });
        if (prompts)
            authorizer.answer(Verdict::InteractionRequired);
        authorizer.answer(Verdict::Authorized);
    }
    EXPECT_EQ(approvals, (std::vector{dbus::Approval::Rules, dbus::Approval::Person}));
}

TEST_F(GateTest, CancelsTheQuestionsOfAConnectionThatLeavesAndNoOthers) {
    pass(call(alice, ":1.7"));
    pass(call(bob, ":1.8"), bob);
    gate.onDisconnected(":1.7");
    EXPECT_EQ(gate.pending(), 1U);
    EXPECT_TRUE(authorizer.answer(Verdict::Authorized));
    EXPECT_EQ(passed, 1);
    gate.onDisconnected(":1.9");
}

TEST_F(GateTest, LetsManyQuestionsOfOneUserWaitAndRefusesNone) {
    constexpr std::size_t count = core::caps::questionsPerUser;
    for (std::size_t i = 0; i < count; ++i)
        pass(call(alice, ":1." + std::to_string(i)));
    EXPECT_TRUE(refusals.empty());
    EXPECT_EQ(gate.pending(), count);
    pass(call(alice, ":1.999"));
    EXPECT_EQ(refusals.at(0).code, ErrorCode::LimitsExceeded) << "whatever the connection";
    refusals.clear();
    while (authorizer.open() > 0) {
        EXPECT_LE(authorizer.open(), core::caps::questionsAtPolkit);
        authorizer.answer(Verdict::Authorized);
    }
    EXPECT_EQ(static_cast<std::size_t>(passed), count);
    pass(call(alice, ":1.7"));
    EXPECT_EQ(gate.pending(), 1U) << "answered questions do not count";
}

TEST_F(GateTest, LetsUsersTakeTurnsAtPolkit) {
    for (std::size_t i = 0; i < 2 * core::caps::questionsAtPolkit; ++i)
        pass(call(alice, ":1.7"));
    pass(call(bob, ":1.8"), bob);
    pass(call(bob, ":1.8"), bob);
    authorizer.askedFor.clear();
    for (int i = 0; i < 4; ++i)
        authorizer.answerFirst(Verdict::Authorized);
    EXPECT_EQ(authorizer.askedFor, (std::vector<std::string>{":1.8", ":1.7", ":1.8", ":1.7"}));
}

TEST_F(GateTest, CountsOpenPromptsOfEachUserAndLetsThemHoldUpNoQuestion) {
    const auto openPrompt = [&](core::Uid uid, const std::string& name) {
        pass(call(uid, name, true), uid);
        authorizer.answerLast(Verdict::InteractionRequired);
    };
    for (std::size_t i = 0; i < core::caps::promptsPerUser; ++i)
        openPrompt(alice, ":1." + std::to_string(i));
    EXPECT_TRUE(refusals.empty());
    EXPECT_EQ(gate.pending(), core::caps::promptsPerUser);
    openPrompt(alice, ":1.99");
    EXPECT_EQ(refusals.at(0).code, ErrorCode::LimitsExceeded) << "whatever the connection";
    EXPECT_EQ(refusals.at(0).message,
              "8 of your calls wait at a password prompt already; answer one first");
    openPrompt(bob, ":1.100");
    EXPECT_EQ(refusals.size(), 1U) << "others may be prompted";
    pass(call(alice, ":1.99", true));
    authorizer.answerLast(Verdict::Authorized);
    EXPECT_EQ(passed, 1) << "a question that needs nobody is asked";
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(gate.pending(), 0U);
    refusals.clear();
    openPrompt(alice, ":1.99");
    EXPECT_TRUE(refusals.empty()) << "answered prompts do not count";
}

// Otherwise connections that only ask and leave could fill polkit with questions.
TEST_F(GateTest, KeepsThePlaceOfAQuestionWhoseCallerLeftUntilPolkitIsDone) {
    constexpr std::size_t places = core::caps::questionsAtPolkit;
    for (std::size_t i = 0; i < 3 * places; ++i)
        pass(call(alice, ":1." + std::to_string(i)));
    for (std::size_t i = 0; i < 2 * places; ++i)
        gate.onDisconnected(":1." + std::to_string(i));
    EXPECT_EQ(authorizer.questions.size(), places);
    EXPECT_EQ(gate.pending(), places);
    authorizer.answer(Verdict::Unavailable);
    EXPECT_EQ(passed, 0);
    EXPECT_EQ(authorizer.askedFor.at(places), ":1.16") << "those that left meanwhile are not asked";
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(static_cast<std::size_t>(passed), places);
}

} // namespace
} // namespace genv::tests
