// SPDX-License-Identifier: LGPL-2.1-or-later
// A password prompt of the real polkitd, whose question nobody answers in time.
#include "policy/polkit_authorizer.hpp"
#include "tests/bus/support/agent.hpp"
#include "tests/bus/support/client.hpp"

#include <gio/gio.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace genv::tests {
namespace {

using policy::Verdict;
using namespace std::chrono_literals;

class Prompt : public ::testing::Test {
  protected:
    std::unique_ptr<policy::Check> ask(bool interactive, std::optional<Verdict>& verdict) {
        return ask(authorizer, interactive, verdict);
    }
    std::unique_ptr<policy::Check> ask(policy::Authorizer& of, bool interactive,
                                       std::optional<Verdict>& verdict) {
        const policy::Question question{policy::Action::ManageOthers, {}, "detach GPUs"};
        return of.ask(client.uniqueName(), question, interactive,
                      [&](Verdict answer) { verdict = answer; });
    }
    /// Asks a question whose answer may take an hour, up to the prompt.
    std::unique_ptr<policy::Check> askUpToThePrompt(std::optional<Verdict>& verdict) {
        std::optional<Verdict> first;
        const auto ready = ask(patient, false, first);
        turnUntil(first);
        auto check = ask(patient, true, verdict);
        agent.processUntil(
            client, [&] { return !agent.prompts.empty(); }, "the prompt");
        return check;
    }
    void turnUntilThePromptIsGone() {
        agent.processUntil(
            client,
            [&] {
                g_main_context_iteration(nullptr, FALSE);
                return agent.canceled == 1;
            },
            "the prompt to go away");
    }
    static void turnUntil(const std::optional<Verdict>& verdict) {
        while (!verdict)
            g_main_context_iteration(nullptr, TRUE);
    }

    Agent agent;
    Client client{alice};
    policy::PolkitAuthorizer authorizer{{10s, 1ms, 1ms}};
    policy::PolkitAuthorizer patient{{10s, 1h, 1ms}};
};

// The timers stand still until the test turns the loop. GLib sends questions from its own thread.
TEST_F(Prompt, GoesAwayOnceItsQuestionTimedOut) {
    std::optional<Verdict> first;
    const auto ready = ask(false, first);
    turnUntil(first);
    ASSERT_EQ(first, Verdict::InteractionRequired);
    std::optional<Verdict> verdict;
    const auto check = ask(true, verdict);
    agent.processUntil(
        client, [&] { return !agent.prompts.empty(); }, "the prompt");
    EXPECT_FALSE(verdict);
    turnUntil(verdict);
    EXPECT_EQ(verdict, Verdict::TimedOut);
    turnUntilThePromptIsGone();
}

TEST_F(Prompt, GoesAwayOnceNobodyWantsTheAnswer) {
    std::optional<Verdict> verdict;
    auto check = askUpToThePrompt(verdict);
    check.reset();
    turnUntilThePromptIsGone();
    EXPECT_FALSE(verdict);
}

TEST_F(Prompt, GoesAwayOnceItsQuestionIsAbandonedWhichHasAnAnswerThen) {
    std::optional<Verdict> verdict;
    const auto check = askUpToThePrompt(verdict);
    check->abandon();
    EXPECT_FALSE(verdict) << "polkit still works on it";
    turnUntilThePromptIsGone();
    turnUntil(verdict);
}

// GDBus would end the process with SIGTERM, which looks as if somebody had stopped the service.
TEST_F(Prompt, LeavesItToTheServiceToEndWithTheBus) {
    std::optional<Verdict> verdict;
    const auto check = ask(false, verdict);
    turnUntil(verdict);
    GDBusConnection* shared = g_bus_get_sync(G_BUS_TYPE_SYSTEM, nullptr, nullptr);
    ASSERT_NE(shared, nullptr);
    EXPECT_FALSE(g_dbus_connection_get_exit_on_close(shared));
    g_object_unref(shared);
}

} // namespace
} // namespace genv::tests
