// SPDX-License-Identifier: LGPL-2.1-or-later
// Without a bus, and so without polkit, the answer is no. A canceled question gets no answer.
// Tests on a bus check the answers of polkit (tests/bus).
#include "policy/polkit_authorizer.hpp"

#include <gio/gio.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace genv::tests {
namespace {

using policy::Verdict;

class WithoutABus : public ::testing::Test {
  protected:
    WithoutABus() {
        // A wrong call of GLib, such as the removal of a timer that is not there, ends the program.
        g_log_set_always_fatal(
            static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
        ::setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
        authorizer = std::make_unique<policy::PolkitAuthorizer>();
    }

    std::unique_ptr<policy::Check> ask(std::optional<Verdict>& verdict) {
        const policy::Question question{policy::Action::Attach, {{"gpus", "1"}}, "attach GPUs"};
        return authorizer->ask(":1.7", question, false, [&](Verdict answer) { verdict = answer; });
    }
    static void turnUntil(const std::optional<Verdict>& verdict) {
        while (!verdict)
            g_main_context_iteration(nullptr, TRUE);
    }
    static void turnWhileThereIsSomething() {
        while (g_main_context_iteration(nullptr, FALSE)) {
        }
    }

    std::unique_ptr<policy::PolkitAuthorizer> authorizer;
};

TEST_F(WithoutABus, TheAnswerIsThatPolkitIsNotThere) {
    std::optional<Verdict> first;
    std::optional<Verdict> second;
    const auto check = ask(first);
    const auto another = ask(second);
    EXPECT_FALSE(first) << "never before the question is on its way";
    turnUntil(first);
    turnUntil(second);
    EXPECT_EQ(first, Verdict::Unavailable);
    EXPECT_EQ(second, Verdict::Unavailable);
    std::optional<Verdict> third;
    const auto again = ask(third);
    turnUntil(third);
    EXPECT_EQ(third, Verdict::Unavailable) << "it is looked for anew";
}

TEST_F(WithoutABus, NobodyIsToldWhoNoLongerWantsToKnow) {
    std::optional<Verdict> cancelled;
    std::optional<Verdict> wanted;
    auto check = ask(cancelled);
    const auto other = ask(wanted);
    check.reset();
    turnUntil(wanted);
    turnWhileThereIsSomething();
    EXPECT_FALSE(cancelled);
}

} // namespace
} // namespace genv::tests
