// SPDX-License-Identifier: LGPL-2.1-or-later
// polkitd and the bus are stopped, continued, killed and restarted while clients call and wait.
#include "tests/bus/support/queue.hpp"
#include "tests/faults/fixture.hpp"

namespace genv::tests {
namespace {

class Daemons : public FaultTest {
  protected:
    UserProcess alices{alice};
    UserProcess bobs{bob};
    const std::string hers = activate(*asAlice, alices, 1);
    const std::string his = activate(*asBob, bobs, 1);
};

TEST_F(Daemons, PolkitdThatIsKilledWhileItIsAskedMeansNoAndTheNextOneIsAsked) {
    for (int round = 0; round < 3; ++round) {
        signalDaemon("polkitd", SIGSTOP);
        const auto attach = asAlice->start(environmentPath(hers), environmentInterface, "Attach",
                                           "a{sv}", 1, "count", "u", 3U);
        const auto detach =
            asBob->start(environmentPath(his), environmentInterface, "Detach", "au", 0);
        turn();
        asAlice->ping();
        EXPECT_FALSE(attach->answered);
        signalDaemon("polkitd", SIGKILL);
        control("stop-polkitd");
        const Answer& answer = asAlice->finish(*attach);
        EXPECT_EQ(answer.error, error::accessDenied);
        EXPECT_NE(answer.text.find("polkit does not answer"), std::string::npos)
            << "it is not asked again for as long as there is time: " << answer.text;
        EXPECT_EQ(asBob->finish(*detach).error, error::accessDenied);
        EXPECT_EQ(devicesOf(hers), "0");
        EXPECT_EQ(devicesOf(his), "1");
        EXPECT_TRUE(asBob->manager("ListDevices").ok()) << "reading is served without it";
        control("start-polkitd");
        EXPECT_TRUE(asAlice->environment(hers, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
        EXPECT_TRUE(
            asAlice->environment(hers, "Attach", "a{sv}", 2, "count", "u", 1U, "exact", "b", 1)
                .ok());
    }
}

// With a bus that activates polkitd, as the bus of a machine does.
class ActivatedPolkitd : public Daemons {};

TEST_F(ActivatedPolkitd, ThatIsKilledWhileItIsAskedIsStartedAndAskedAgain) {
    signalDaemon("polkitd", SIGSTOP);
    const auto attach = asAlice->start(environmentPath(hers), environmentInterface, "Attach",
                                       "a{sv}", 1, "count", "u", 3U);
    turn();
    asAlice->ping();
    EXPECT_FALSE(attach->answered);
    signalDaemon("polkitd", SIGKILL);
    const Answer& answer = asAlice->finish(*attach);
    EXPECT_TRUE(answer.ok()) << answer.text;
    EXPECT_EQ(devicesOf(hers), "0,2,3");
    EXPECT_EQ(devicesOf(his), "1");
}

TEST_F(Daemons, WaitersKeepTheirPlacesOverARestartOfPolkitd) {
    const auto waiting = asBob->start(environmentPath(his), environmentInterface, "Attach", "a{sv}",
                                      2, "index", "u", 0U, "wait", "b", 1);
    waitUntil([&] { return queueOf(*asRoot).size() == 1; }, "bob to wait");
    control("restart-polkitd");
    EXPECT_FALSE(waiting->answered);
    EXPECT_TRUE(asRoot->environment(hers, "Detach", "au", 0).ok());
    EXPECT_TRUE(asBob->finish(*waiting).ok());
    EXPECT_EQ(devicesOf(his), "0,1");
}

// A bus that is stopped for any length of time: changes take effect meanwhile, and earlier calls
// are answered afterwards.
TEST_F(Daemons, ABusThatStopsAndGoesOnLosesNothing) {
    const pid_t same = service.pid();
    signalDaemon("bus", SIGSTOP);
    alices.kill(SIGKILL);
    alices.wait();
    // The service needs no bus to notice the end of a process.
    service.waitForLog("environment " + hers + " of uid 1001 ended");
    const auto attach = asBob->start(environmentPath(his), environmentInterface, "Attach", "a{sv}",
                                     1, "count", "u", 2U);
    signalDaemon("bus", SIGCONT);
    EXPECT_TRUE(asBob->finish(*attach).ok());
    EXPECT_EQ(environmentCount(), "1");
    EXPECT_EQ(devicesOf(his), "0,1");
    EXPECT_FALSE(service.hasEnded());
    EXPECT_EQ(service.pid(), same);
}

TEST_F(Daemons, ABusThatIsKilledEndsTheServiceWhichComesBackWithEverything) {
    const std::string before = describe(hers);
    signalDaemon("bus", SIGKILL);
    EXPECT_EQ(service.wait(), 1);
    control("restart-bus");
    service.start();
    asRoot = std::make_unique<Client>(root);
    asAlice = std::make_unique<Client>(alice);
    EXPECT_EQ(describe(hers), before);
    EXPECT_EQ(holders().size(), 2U);
    EXPECT_FALSE(alices.hasEnded() || bobs.hasEnded());
    EXPECT_TRUE(asAlice->environment(hers, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
}

} // namespace
} // namespace genv::tests
