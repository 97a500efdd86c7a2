// SPDX-License-Identifier: LGPL-2.1-or-later
// A process for which an environment lingers activates another environment. It requests the devices
// that it already uses, and nothing changes unless the request succeeds.
#include "core/base/error.hpp"
#include "core/ledger/supposition.hpp"
#include "core/state/state_schema.hpp"
#include "tests/core/lingering_fixture.hpp"

namespace genv::tests {

using Pids = std::vector<core::Pid>;

namespace {

using Indices = std::vector<core::DeviceIndex>;
using core::ErrorCode;

class LingeringProcess : public LingeringTest {
  protected:
    // A program that computes on GPU 0 and has left its environment.
    void SetUp() override {
        haveGpus(2);
        holding("10", alice, {0});
        sample(sampleOf(2, {computeProcess(10, alice, {"GPU-0"})}));
        ledger.removeProcess("10", 10, alice);
        sample(sampleOf(2, {computeProcess(10, alice, {"GPU-0"})}));
        ASSERT_TRUE(isLingering("10"));
        emitted.clear();
    }

    core::RootProcess process() { return core::adopt(processes.pin(10), alice, alice); }
    core::NewEnvironment wanted(const std::string& id) {
        return {id, alice, "alice", {}, {process()}, {}};
    }
    core::Placement planGpu0() {
        const core::Supposition departed(ledger, ledger.departedBy({10, 7}, alice, {}));
        return core::place({core::IndicesWanted{{0}}, {}, {}, false}, ledger.devices(), nullptr);
    }
};

TEST_F(LingeringProcess, LeavesItsEnvironmentForAnother) {
    ledger.activate(wanted("20"), planGpu0(), alice);
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_EQ(devicesOf("20"), Indices{0});
    EXPECT_EQ(store.documents.size(), 1U);
    EXPECT_FALSE(ledger.device(0).occupied) << "by the very process that has it";
    expectNothingTwice(ledger);
}

TEST_F(LingeringProcess, MayUseTheIdAnew) {
    ledger.activate(wanted("10"), planGpu0(), alice);
    EXPECT_TRUE(ledger.get("10").isRegistered());
    EXPECT_EQ(core::decodeState(store.documents.at("10")), ledger.get("10"));
    EXPECT_EQ(emittedOf<core::EnvironmentRemoved>().size(), 1U);
    EXPECT_EQ(emittedOf<core::EnvironmentAdded>().size(), 1U);
}

TEST_F(LingeringProcess, MayJoinAnother) {
    activate("30", alice);
    ledger.addProcess("30", process(), alice);
    EXPECT_EQ(ledger.find("10"), nullptr);
    EXPECT_EQ(pidsOf("30"), (Pids{30, 10}));
    EXPECT_TRUE(ledger.device(0).occupied) << "which does not hold what the process still uses";
}

TEST_F(LingeringProcess, LeavesTheEnvironmentToTheOthersThatKeepIt) {
    const auto other = worker(500, alice, {"GPU-0"}, "10");
    ledger.activate(newEnvironment("40", alice, 40), std::nullopt, alice);
    processes.add(11, alice);
    ledger.addProcess("10", core::adopt(processes.pin(11), alice, alice), alice);
    ledger.removeProcess("10", 11, alice);
    sample(sampleOf(2, {computeProcess(10, alice, {"GPU-0"}), other}));
    ASSERT_EQ(pidsOf("10"), (Pids{10, 500}));
    ledger.addProcess("40", process(), alice);
    EXPECT_EQ(pidsOf("10"), Pids{500});
    EXPECT_EQ(devicesOf("10"), Indices{0});
}

TEST_F(LingeringProcess, StaysWhereNothingIsGiven) {
    const core::EnvironmentRecord before = ledger.get("10");
    const auto documents = store.documents;
    const auto expectUnchanged = [&] {
        EXPECT_EQ(ledger.get("10"), before);
        EXPECT_EQ(ledger.environmentOfRoot({10, 7}), ledger.find("10"));
        EXPECT_EQ(store.documents, documents);
        EXPECT_FALSE(ledger.device(0).isAvailable(std::nullopt));
        EXPECT_TRUE(emitted.empty());
    };
    const core::Placement placement = planGpu0();
    expectUnchanged();

    core::Placement stale = placement;
    stale.basis = {"GPU-1"};
    EXPECT_EQ(codeOf([&] { ledger.activate(wanted("20"), stale, alice); }),
              ErrorCode::DeviceUnavailable);
    expectUnchanged();

    store.writesUntilFailure = 1; // of the two documents
    store.maxFailures = 1;
    EXPECT_EQ(codeOf([&] { ledger.activate(wanted("20"), placement, alice); }),
              ErrorCode::StorageFailed);
    EXPECT_TRUE(ledger.retryWrites());
    expectUnchanged();
}

TEST_F(LingeringProcess, OfAnotherUsersEnvironmentIsRefused) {
    activate("30", bob);
    EXPECT_EQ(codeOf([&] { ledger.addProcess("30", process(), root); }), ErrorCode::AlreadyExists);
    EXPECT_TRUE(isLingering("10"));
}

TEST_F(LingeringProcess, IsRegisteredAgainWithTheEnvironmentThatItLeft) {
    ledger.addProcess("10", process(), alice);
    EXPECT_TRUE(ledger.get("10").isRegistered());
    EXPECT_EQ(pidsOf("10"), Pids{10});
}

TEST_F(LingeringProcess, ThatIsRegisteredStays) {
    activate("30", alice);
    ledger.addProcess("30", process(), alice);
    activate("50", alice);
    EXPECT_EQ(codeOf([&] { ledger.addProcess("50", process(), alice); }), ErrorCode::AlreadyExists);
    EXPECT_EQ(pidsOf("30"), (Pids{30, 10}));
}

} // namespace
} // namespace genv::tests
