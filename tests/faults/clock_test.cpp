// SPDX-License-Identifier: LGPL-2.1-or-later
// An administrator sets the clock, or the machine is suspended: the test shifts only the service's
// clocks.
#include "tests/faults/fixture.hpp"

namespace genv::tests {
namespace {

using namespace std::chrono_literals;

class Clock : public FaultTest {
  protected:
    std::string activateFor(Client& client, const UserProcess& process, std::uint64_t seconds) {
        return client
            .manager("Activate", "a{sv}", 3, "pid", "u", process.pid(), "gpus", "u", 1U, "lifetime",
                     "t", seconds)
            .readString();
    }
    /// Returns the sequence number by which a shell notices a change.
    static std::uint64_t shellSequence(const std::string& id) {
        std::uint64_t sequence = 0;
        std::ifstream(Service::stateFolder().parent_path() / "shell" /
                      std::filesystem::path(environmentPath(id)).filename()) >>
            sequence;
        return sequence;
    }
    /// Takes a sample of the GPUs and waits for everything that the service does with it.
    void look() { EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1).ok()); }
};

TEST_F(Clock, ThatJumpsForwardAndBackMovesNoLeaseAndUpsetsNoOrder) {
    const UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = activateFor(*asAlice, alices, 3600);
    const std::string before = describe(hers);
    std::uint64_t last = shellSequence(hers);
    for (const std::chrono::seconds jump :
         {std::chrono::seconds(24h * 365), -std::chrono::seconds(24h * 3650), 0s}) {
        SCOPED_TRACE(jump.count());
        injector.setWall(jump);
        look();
        EXPECT_EQ(describe(hers), before);
        // Shells notice a change by a number that only increases, whatever the time is.
        EXPECT_TRUE(asRoot->environment(hers, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
        EXPECT_TRUE(
            asRoot->environment(hers, "Attach", "a{sv}", 2, "count", "u", 1U, "exact", "b", 1)
                .ok());
        EXPECT_GT(shellSequence(hers), last);
        last = shellSequence(hers);
        const std::string his = activate(*asBob, bobs, 1);
        EXPECT_TRUE(asBob->environment(his, "Deactivate").ok());
        service.restart(SIGKILL);
        EXPECT_EQ(describe(hers), before) << "also over a restart";
    }
    EXPECT_EQ(environmentCount(), "1");
}

// The monotonic clock stops while a machine is suspended; leases continue.
TEST_F(Clock, ThatStoodWhileTheMachineSleptEndsTheLeasesThatEndedMeanwhile) {
    UserProcess alices(alice);
    const UserProcess bobs(bob);
    const std::string hers = activateFor(*asAlice, alices, 3600);
    const std::string his = activateFor(*asBob, bobs, 14'400);
    injector.setBoot(2h);
    waitUntil(
        [&] {
            look();
            return describe(hers).empty();
        },
        "the lease to end");
    EXPECT_EQ(devicesOf(his), "1");
    EXPECT_FALSE(alices.hasEnded()) << "it used no GPU";
}

} // namespace
} // namespace genv::tests
