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
        const policy::Question question{policy::Action::ManageOthers, {}, "detach GPUs"};
        return authorizer.ask(client.uniqueName(), question, interactive,
                              [&](Verdict answer) { verdict = answer; });
    }
    static void turnUntil(const std::optional<Verdict>& verdict) {
        while (!verdict)
            g_main_context_iteration(nullptr, TRUE);
    }

    Agent agent;
    Client client{alice};
    policy::PolkitAuthorizer authorizer{{10s, 1ms, 1ms}};
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
    agent.processUntil(
        client,
        [&] {
            g_main_context_iteration(nullptr, FALSE);
            return agent.cancelled == 1;
        },
        "the prompt to go away");
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
