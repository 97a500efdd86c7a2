// SPDX-License-Identifier: LGPL-2.1-or-later
// An activation that cannot succeed is refused before polkit is asked, which might ask a person for
// a password.
#include "dbus/manager/activation.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

class Activations : public ContextTest {
  protected:
    Activations() { callers.learn(":1.7", dbus::raw::Credentials{alice, 500}); }

    void activate(core::Pid pid) {
        const dbus::ActivateReply reply{
            sdbus::Result<std::string, sdbus::ObjectPath>{received()},
            dbus::Call{
                row("dev.genv.Manager", "Activate"), {":1.7", alice, 500, false}, *this, isEnding}};
        reply.guarded([&] {
            dbus::activate(context, reply, {{"pid", sdbus::Variant{std::uint32_t{pid}}}});
        });
    }
};

TEST_F(Activations, OfProcessesThatCannotKeepAnEnvironmentAreRefusedBeforePolkitIsAsked) {
    processes.add(600, bob);
    processes.add(601, alice)->facts.uids.effective = 0;
    processes.add(602, alice)->facts.isKernelThread = true;
    const std::pair<core::Pid, core::ErrorCode> refused[] = {{600, core::ErrorCode::AccessDenied},
                                                             {601, core::ErrorCode::AccessDenied},
                                                             {602, core::ErrorCode::InvalidArgs},
                                                             {603, core::ErrorCode::NoSuchProcess}};
    for (const auto& [pid, code] : refused) {
        refusals.clear();
        activate(pid);
        ASSERT_EQ(refusals.size(), 1U) << pid;
        EXPECT_EQ(refusals[0].code, code) << pid;
    }
    EXPECT_TRUE(authorizer.questions.empty());

    refusals.clear();
    processes.add(604, alice);
    activate(604);
    EXPECT_EQ(authorizer.questions.size(), 1U);
    EXPECT_TRUE(authorizer.answer(policy::Verdict::Denied));
    EXPECT_EQ(refusals.size(), 1U);
    EXPECT_TRUE(ledger.environments().empty());
}

} // namespace
} // namespace genv::tests
