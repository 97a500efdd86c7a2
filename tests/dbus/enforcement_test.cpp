// SPDX-License-Identifier: LGPL-2.1-or-later
// A repeated enforcement runs for a caller that stays connected, survives failures of the driver,
// and is limited in number.
#include "core/settings/caps.hpp"
#include "dbus/manager/enforcement.hpp"
#include "tests/dbus/context_fixture.hpp"

namespace genv::tests {
namespace {

using core::ErrorCode;
using dbus::VariantMap;
using policy::Verdict;
using sdbus::Variant;
using namespace std::chrono_literals;

class RepeatedEnforcement : public ContextTest {
  protected:
    ~RepeatedEnforcement() override {
        isEnding = true;
        observer.waiting.clear(); // they refer to calls, which are counted
    }

    dbus::EnforcementReply reply(core::Uid uid, const std::string& connection) {
        return {sdbus::Result<dbus::Actions>{received()},
                dbus::Call{row("dev.genv.Manager", "Enforce"),
                           {connection, uid, 500, false},
                           *this,
                           isEnding}};
    }
    void enforce(const VariantMap& options, core::Uid uid = 0,
                 const std::string& connection = ":1.7") {
        const auto call = reply(uid, connection);
        call.guarded([&] { enforcement.enforce(call, options); });
    }
    const VariantMap eachMinute{{"interval", Variant{std::uint64_t{60}}}};
    bool isLooking() const { return !observer.waiting.empty(); }

    static sdbus::IConnection& bus() {
        static const auto connection = sdbus::createSystemBusConnection();
        return *connection;
    }
    std::unique_ptr<sdbus::IObject> manager =
        sdbus::createObject(bus(), sdbus::ObjectPath{"/dev/genv/Manager"});
    dbus::Enforcement enforcement{enforcer, users, context.calls, context.runtime, *manager};
};

TEST_F(RepeatedEnforcement, GoesOnUntilItsCallerLeaves) {
    enforce(eachMinute);
    observer.answer(gpus(1));
    EXPECT_TRUE(refusals.empty()) << refusalText();
    for (int cycle = 0; cycle < 3; ++cycle) {
        EXPECT_FALSE(isLooking());
        scheduler.pass(60s);
        ASSERT_TRUE(isLooking()) << cycle;
        observer.answer(gpus(1));
    }
    enforcement.onDisconnected(":1.8");
    scheduler.pass(60s);
    EXPECT_TRUE(isLooking()) << "somebody else left";
    enforcement.onDisconnected(":1.7");
    observer.answer(gpus(1)); // of the cycle that was in progress
    scheduler.pass(600s);
    EXPECT_FALSE(isLooking());
}

TEST_F(RepeatedEnforcement, SurvivesADriverThatDoesNotAnswerForAWhile) {
    enforce(eachMinute);
    observer.answer(gpus(1));
    scheduler.pass(60s);
    observer.fail("it hangs");
    scheduler.pass(60s);
    EXPECT_TRUE(isLooking());
}

TEST_F(RepeatedEnforcement, WaitsForTheNextTurnWhereAnotherRuns) {
    enforce(eachMinute);
    observer.answer(gpus(1));
    enforce({}, 0, ":1.8");
    ASSERT_TRUE(isLooking());
    scheduler.pass(60s); // its next cycle is due while the other still waits for a sample
    EXPECT_EQ(observer.waiting.size(), 1U);
    observer.answer(gpus(1));
    scheduler.pass(60s);
    EXPECT_TRUE(isLooking());
}

TEST_F(RepeatedEnforcement, NeverBeginsWhereTheFirstCycleFails) {
    enforce(eachMinute);
    observer.fail("it hangs");
    EXPECT_EQ(refusalText(), "the GPU driver does not answer: it hangs");
    EXPECT_EQ(refusals.at(0).code, ErrorCode::Timeout);
    scheduler.pass(600s);
    EXPECT_FALSE(isLooking());

    enforce({}, 0, ":1.8");
    refusals.clear();
    enforce(eachMinute);
    EXPECT_EQ(refusals.at(0).code, ErrorCode::Busy);
    observer.answer(gpus(1));
    scheduler.pass(600s);
    EXPECT_FALSE(isLooking());
}

TEST_F(RepeatedEnforcement, IsDoneSoOftenForAUserAtATime) {
    for (std::size_t i = 0; i <= core::caps::repeatedEnforcementsPerUser; ++i) {
        EXPECT_TRUE(refusals.empty()) << refusalText();
        enforce(eachMinute, alice, ":1." + std::to_string(i));
        authorizer.answer(Verdict::Authorized);
        observer.answer(gpus(1));
    }
    ASSERT_EQ(refusals.size(), 1U);
    EXPECT_EQ(refusals[0].code, ErrorCode::LimitsExceeded);
    enforcement.onDisconnected(":1.0");
    enforce(eachMinute, alice, ":1.99");
    authorizer.answer(Verdict::Authorized);
    EXPECT_EQ(refusals.size(), 1U);
}

TEST_F(RepeatedEnforcement, ThatNeverBeganDoesNotCount) {
    for (std::size_t i = 0; i <= core::caps::repeatedEnforcementsPerUser; ++i) {
        refusals.clear();
        enforce(eachMinute, alice);
        authorizer.answer(Verdict::Authorized);
        observer.fail("it hangs");
        EXPECT_EQ(refusals.at(0).code, ErrorCode::Timeout);
    }
}

TEST_F(RepeatedEnforcement, TellsWhatItDidOverTheBus) {
    users.add(alice, "alice");
    processes.add(20, alice);
    ledger.observed(gpus(2));
    ledger.activate({"20", alice, "alice", {}, {core::adopt(processes.pin(20), alice, alice)}, {}},
                    std::nullopt, alice);
    ledger.attach("20",
                  core::place({core::IndicesWanted{{0, 1}}, {}, {}, false}, ledger.devices(),
                              ledger.find("20")),
                  alice);
    enforce({{"interval", Variant{std::uint64_t{60}}},
             {"max-devices-per-user", Variant{std::uint32_t{1}}}});
    observer.answer(gpus(2));
    EXPECT_TRUE(refusals.empty()) << refusalText();
    EXPECT_EQ(ledger.get("20").deviceIndices(), std::vector<core::DeviceIndex>{0});
}

class ReportedEnforcement : public RepeatedEnforcement {
  protected:
    void execute(core::Uid uid, const std::string& connection) {
        const auto call = reply(uid, connection);
        call.guarded([&] { enforcement.execute(call, "{}"); });
    }
};

TEST_F(ReportedEnforcement, OfAUserWaitsForAuthorizationOneAtATime) {
    execute(alice, ":1.7");
    execute(alice, ":1.8");
    ASSERT_EQ(refusals.size(), 1U);
    EXPECT_EQ(refusals[0].code, ErrorCode::LimitsExceeded);
    execute(bob, ":1.9");
    execute(0, ":1.10");
    execute(0, ":1.11");
    EXPECT_EQ(authorizer.questions.size(), 2U);
    authorizer.answer(Verdict::Denied);
    refusals.clear();
    execute(alice, ":1.7");
    EXPECT_TRUE(refusals.empty()) << "an answered report does not count";
    gate.onDisconnected(":1.7");
    refusals.clear();
    execute(alice, ":1.8");
    EXPECT_TRUE(refusals.empty()) << "nor does one whose caller left";
}

} // namespace
} // namespace genv::tests
