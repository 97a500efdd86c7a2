// SPDX-License-Identifier: LGPL-2.1-or-later
// An administrator's password: requested only when the call allows it, with a message that names
// the target. The approval covers the request that was shown and nothing else.
#include "tests/bus/support/agent.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/monitor.hpp"

#include <csignal>

namespace genv::tests {
namespace {

class Password : public BusTest {
  protected:
    Password() : id(activate(*asBob, shell, 1)) { asAlice->setInteractive(true); }

    std::unique_ptr<PendingCall> detachBobs() {
        return asAlice->start(environmentPath(id), environmentInterface, "Detach", "au", 0);
    }
    void waitForPrompt() {
        agent.processUntil(
            *asAlice, [&] { return !agent.prompts.empty(); }, "the prompt");
    }
    std::unique_ptr<PendingCall> callUpToThePrompt(Client& client) {
        client.setInteractive(true);
        auto call = client.start(environmentPath(id), environmentInterface, "Detach", "au", 0);
        agent.processUntil(
            client, [&] { return !agent.prompts.empty(); }, "the prompt");
        return call;
    }
    const Answer& finish(PendingCall& call) {
        agent.processUntil(
            *asAlice, [&] { return call.answered; }, "the answer");
        return call.answer;
    }

    const UserProcess shell{bob};
    const std::string id;
    Agent agent;
};

TEST_F(Password, IsAskedForWithTheTargetsNameAndLetsTheCallThrough) {
    const auto call = detachBobs();
    waitForPrompt();
    EXPECT_EQ(agent.prompts[0].action, "dev.genv.manager.manage-others");
    EXPECT_EQ(agent.prompts[0].message,
              "Authentication is required to detach GPUs from environment " + id +
                  " of bob (GPU 0)");
    EXPECT_EQ(devicesOf(id), "0") << "nothing before the answer";
    agent.answer(true);
    EXPECT_TRUE(finish(*call).ok()) << call->answer.text;
    EXPECT_EQ(devicesOf(id), "");
}

TEST_F(Password, IsAskedForEachTime) {
    const auto first = detachBobs();
    waitForPrompt();
    agent.answer(true);
    EXPECT_TRUE(finish(*first).ok());
    agent.prompts.clear();
    const auto second = asAlice->start(environmentPath(id), environmentInterface, "Deactivate");
    waitForPrompt();
    agent.answer(false);
    EXPECT_EQ(finish(*second).error, error::accessDenied);
    EXPECT_EQ(environmentCount(), "1");
}

TEST_F(Password, ThatIsWrongMeansNo) {
    const auto call = detachBobs();
    waitForPrompt();
    agent.answer(false);
    EXPECT_EQ(finish(*call).error, error::accessDenied);
    EXPECT_EQ(devicesOf(id), "0");
}

TEST_F(Password, IsNotAskedForWhenTheCallDoesNotAllowIt) {
    asAlice->setInteractive(false);
    const auto call = detachBobs();
    EXPECT_EQ(finish(*call).error, error::interactive);
    EXPECT_TRUE(agent.prompts.empty());
}

TEST_F(Password, PromptGoesAwayWithTheCaller) {
    {
        Client leaving(alice);
        const auto call = callUpToThePrompt(leaving);
    }
    agent.processUntil(
        *asAlice, [&] { return agent.canceled == 1; }, "the prompt to go away");
    EXPECT_EQ(devicesOf(id), "0");
}

// To cancel a question in the moment in which its agent leaves as well can stop polkitd forever.
TEST_F(Password, PromptOfACallerThatLeftIsLeftToPolkit) {
    Monitor monitor("interface='org.freedesktop.PolicyKit1.Authority',type='method_call'");
    {
        Client leaving(alice);
        const auto call = callUpToThePrompt(leaving);
        monitor.awaitCall("CheckAuthorization");
        signalDaemon("polkitd", SIGSTOP); // polkitd ends no question until genvd has noticed
    }
    service.waitForLog("refused dev.genv.Environment.Detach");
    signalDaemon("polkitd", SIGCONT);
    agent.processUntil(
        *asAlice, [&] { return agent.canceled == 1; }, "the prompt to go away");
    const UserProcess alices(alice);
    activate(*asAlice, alices, 1);
    EXPECT_EQ(monitor.awaitCall("CheckAuthorization"), std::vector<std::string>{});
}

TEST_F(Password, IsGivenForWhatWasShownAndNothingElse) {
    const Rule rule("over", "action.id == 'dev.genv.manager.over-subscribe'", "AUTH_ADMIN");
    const UserProcess alices(alice);
    const UserProcess roots(root);
    const std::string hers = activate(*asAlice, alices);
    const auto attach = asAlice->start(environmentPath(hers), environmentInterface, "Attach",
                                       "a{sv}", 2, "count", "u", 1U, "over-subscribe", "b", 1);
    waitForPrompt();
    EXPECT_EQ(agent.prompts[0].message,
              "Authentication is required to attach GPUs to environment " + hers +
                  " of alice (GPU 1)");
    const std::string taker = activate(*asRoot, roots);
    EXPECT_TRUE(asRoot->environment(taker, "Attach", "a{sv}", 1, "index", "u", 1U).ok());
    agent.answer(true);
    EXPECT_EQ(finish(*attach).error, error::deviceUnavailable) << attach->answer.text;
    EXPECT_EQ(devicesOf(hers), "");
    EXPECT_EQ(agent.prompts.size(), 1U) << "a person is not asked again by itself";
}

} // namespace
} // namespace genv::tests
