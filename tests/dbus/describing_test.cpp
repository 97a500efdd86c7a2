// SPDX-License-Identifier: LGPL-2.1-or-later
// Descriptions of compute processes. A description counts among its caller's list calls until it is
// answered.
#include "core/settings/caps.hpp"
#include "dbus/manager/describing.hpp"
#include "tests/dbus/context_fixture.hpp"

#include <limits>

namespace genv::tests {
namespace {

using dbus::DescriptionRow;
using namespace std::chrono_literals;

class Describing : public ContextTest {
  protected:
    Describing() { ledger.observed(gpus(2)); }
    ~Describing() override {
        isEnding = true; // the requests here are never answered
        users.later();
        observer.fail("the end");
    }

    static core::Observation seen(std::vector<core::ObservedProcess> processes) {
        core::Observation observation = gpus(2);
        observation.processes = std::move(processes);
        return observation;
    }
    void ask(core::Uid uid = alice) {
        const dbus::Reply<dbus::DescriptionRows> reply{
            dbus::WrittenResult<dbus::DescriptionRows>(dbus::raw::Message(received())),
            dbus::Call{row("dev.genv.Manager", "DescribeProcesses"),
                       {":1.7", uid, 500, false},
                       *this,
                       isEnding}};
        reply.guarded([&] { dbus::describeProcesses(context, reply); });
    }
};

TEST_F(Describing, TellsWhatIsKnownOfAProcess) {
    core::ObservedProcess process = computeProcess(4711, bob, {"GPU-1", "GPU-gone", "GPU-0"});
    process.facts.command = "py\x1b[2J\"\\x";
    process.facts.identity.startTime = 50'000; // ticks: half of the machine's uptime
    process.uses[0].utilizationPercent = 35;
    process.uses[2].usedMemory.reset();
    const auto rows = dbus::describe(seen({process}), ledger, clock).rows;
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].pid, 4711U);
    EXPECT_EQ(rows[0].uid, bob);
    EXPECT_EQ(rows[0].environment, "");
    EXPECT_EQ(rows[0].name, R"(py\x1b[2J"\x)");
    ASSERT_EQ(rows[0].devices.size(), 2U) << "a device that is gone has no index";
    EXPECT_EQ(rows[0].devices[0],
              sdbus::make_struct(std::uint32_t{1}, gigabytes(1).count, std::uint32_t{35}));
    EXPECT_EQ(rows[0].devices[1],
              sdbus::make_struct(std::uint32_t{0}, std::numeric_limits<std::uint64_t>::max(),
                                 std::numeric_limits<std::uint32_t>::max()));
    // The process started within the tick that ended here.
    EXPECT_EQ(rows[0].started, core::toMicroseconds(clock.wall - 500s + 10ms));
}

TEST_F(Describing, TellsTheSameStartHoweverTheClocksAreRead) {
    const auto observation = seen({computeProcess(1, alice, {"GPU-0"})});
    const auto before = dbus::describe(observation, ledger, clock).rows[0].started;
    clock.pass(1h);
    clock.wall += 9us; // wall and boot time are never read at the same instant
    EXPECT_EQ(dbus::describe(observation, ledger, clock).rows[0].started, before);
}

TEST_F(Describing, KnowsNoStartOfAProcessThatCannotBeRead) {
    core::ObservedProcess process = computeProcess(1, alice, {"GPU-0"});
    process.facts.identity.startTime = core::ProcessIdentity::unreadStart + 7;
    EXPECT_EQ(dbus::describe(seen({process}), ledger, clock).rows[0].started,
              std::numeric_limits<std::uint64_t>::max());
}

TEST_F(Describing, TellsTheUserWhoMadeAProcessesNamespace) {
    core::ObservedProcess process = computeProcess(1, 100'000, {"GPU-0"});
    process.userNamespaceOwner = bob;
    EXPECT_EQ(dbus::describe(seen({process}), ledger, clock).rows[0].uid, bob);
}

TEST_F(Describing, CountsAmongTheCallersListCallsUntilItIsAnswered) {
    users.slow = true;
    for (std::size_t i = 0; i < core::caps::listCallsPerUser; ++i)
        ask();
    EXPECT_EQ(observer.lastAge, core::freshSample);
    ask();
    ASSERT_EQ(refusals.size(), 1U) << "while they wait for a sample";
    EXPECT_EQ(refusals[0].code, core::ErrorCode::LimitsExceeded);
    observer.answer(seen({computeProcess(1, bob, {"GPU-0"})}));
    refusals.clear();
    ask();
    EXPECT_EQ(refusals.size(), 1U) << "while they wait for the names of users";
    refusals.clear();
    ask(bob);
    EXPECT_TRUE(refusals.empty()) << "another user's are counted by themselves";
    users.later();
    ask();
    EXPECT_TRUE(refusals.empty());
}

TEST_F(Describing, EndsWithTheDriversFailure) {
    ask();
    observer.fail("it hangs");
    EXPECT_EQ(refusalText(), "the GPU driver does not answer: it hangs");
}

} // namespace
} // namespace genv::tests
