// SPDX-License-Identifier: LGPL-2.1-or-later
// Attach asks polkit what core/requests decides, and grants what was allowed.
#include "dbus/environment/attaching.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using policy::Verdict;

// Alice asks for one of two GPUs.
class Granting : public ContextTest {
  protected:
    using Indices = std::vector<core::DeviceIndex>;

    Granting() {
        ledger.observed(gpus(2));
        users.add(alice, "alice");
        start("10", alice);
        start("20", bob);
    }
    void TearDown() override { waitingCalls.onDisconnected(":1.7"); }
    void start(const std::string& id, core::Uid uid) {
        const auto pid = static_cast<core::Pid>(std::stoul(id));
        processes.add(pid, uid);
        ledger.activate({id, uid, "user", {}, {core::adopt(processes.pin(pid), uid, uid)}, {}},
                        std::nullopt, uid);
    }
    void attach(dbus::VariantMap options = {}, bool interactive = false) {
        options.emplace("count", sdbus::Variant{std::uint32_t{1}});
        const dbus::AttachReply reply{sdbus::Result<std::vector<std::uint32_t>>{received()},
                                      dbus::Call{row("dev.genv.Environment", "Attach"),
                                                 {":1.7", alice, 500, interactive},
                                                 *this,
                                                 isEnding}};
        reply.guarded([&] { dbus::attach(context, reply, ledger.get("10"), std::move(options)); });
    }
    void giveBob(core::DeviceIndex index) {
        const core::AttachRequest request{core::IndicesWanted{{index}}, {}, {}, false};
        ledger.attach("20", queue.place(request, &ledger.get("20")), bob);
    }
    [[nodiscard]] Indices granted() const { return ledger.get("10").deviceIndices(); }
    void answer(std::initializer_list<Verdict> verdicts) {
        for (const Verdict verdict : verdicts)
            EXPECT_TRUE(authorizer.answer(verdict));
    }
};

TEST_F(Granting, GivesWhatPolkitAllowed) {
    attach();
    EXPECT_TRUE(granted().empty());
    answer({Verdict::Authorized});
    EXPECT_EQ(granted(), Indices{0});
    EXPECT_EQ(authorizer.questions.size(), 1U);
}

TEST_F(Granting, GivesNothingThatPolkitRefused) {
    attach();
    answer({Verdict::Denied});
    EXPECT_TRUE(granted().empty());
    EXPECT_EQ(refusals.at(0).code, ErrorCode::AccessDenied);
}

TEST_F(Granting, AsksAnewWhenTheDevicesChangedHands) {
    attach();
    giveBob(0);
    answer({Verdict::Authorized});
    EXPECT_TRUE(granted().empty());
    ASSERT_EQ(authorizer.questions.size(), 2U) << "rules may decide on the devices";
    EXPECT_EQ(authorizer.questions[1].details.at("devices"), "1");
    answer({Verdict::Authorized});
    EXPECT_EQ(granted(), Indices{1});
}

TEST_F(Granting, AsksAnewWhenNobodyWasPrompted) {
    attach({}, true);
    giveBob(0);
    answer({Verdict::Authorized});
    EXPECT_EQ(authorizer.questions.size(), 2U) << "the call allows a prompt, but there was none";
    EXPECT_TRUE(refusals.empty());
}

TEST_F(Granting, IsRefusedWhereAPersonAgreedToSomethingElse) {
    attach({}, true);
    answer({Verdict::InteractionRequired});
    giveBob(0);
    answer({Verdict::Authorized});
    EXPECT_EQ(authorizer.questions.size(), 2U) << "the same question, without and with a prompt";
    EXPECT_EQ(refusals.at(0).message,
              "the devices changed hands while authorization was given; try again");
    EXPECT_TRUE(granted().empty());
}

TEST_F(Granting, OverALimitAsksASecondTimeAndMarksIt) {
    settings.limits.general.maxDevices = 0;
    attach();
    answer({Verdict::Authorized});
    EXPECT_TRUE(granted().empty());
    ASSERT_EQ(authorizer.questions.size(), 2U);
    EXPECT_EQ(authorizer.questions[1].action, policy::Action::ExceedLimits);
    answer({Verdict::Authorized});
    EXPECT_EQ(granted(), Indices{0});
    EXPECT_TRUE(ledger.get("10").attachments.front().exempt);
}

TEST_F(Granting, OverAQuotaPromptsNobodyAndWaits) {
    settings.limits.general.maxDevices = 1;
    start("11", alice);
    const core::AttachRequest request{core::IndicesWanted{{1}}, {}, {}, false};
    ledger.attach("11", queue.place(request, &ledger.get("11")), alice);
    attach({{"wait", sdbus::Variant{true}}, {"hold-for-quota", sdbus::Variant{true}}}, true);
    answer({Verdict::Authorized, Verdict::InteractionRequired});
    EXPECT_EQ(authorizer.questions.size(), 2U);
    EXPECT_EQ(ledger.waits().size(), 1U);
    EXPECT_TRUE(refusals.empty());
}

TEST_F(Granting, OverALimitThatNoWaitHelpsIsRefused) {
    settings.limits.general.maxDevices = 0;
    attach({{"wait", sdbus::Variant{true}}, {"hold-for-quota", sdbus::Variant{true}}});
    answer({Verdict::Authorized, Verdict::Denied});
    EXPECT_EQ(refusals.at(0).code, ErrorCode::QuotaExceeded);
}

TEST_F(Granting, OverAnotherLimitThanAPersonAgreedToIsRefused) {
    settings.limits.general.maxDevices = 0;
    attach({}, true);
    answer({Verdict::Authorized, Verdict::InteractionRequired});
    settings.limits.general = {};
    settings.limits.general.maxGpuMemory = gigabytes(1);
    answer({Verdict::Authorized});
    EXPECT_TRUE(granted().empty());
    EXPECT_EQ(refusals.at(0).code, ErrorCode::QuotaExceeded);
}

} // namespace
} // namespace genv::tests
