// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices that a process outside every environment uses. A user who gets such a device receives a
// warning that names the process and its user. The warning comes before the answer, and never names
// a process that has exited.
#include "tests/bus/support/fixture.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

namespace genv::tests {
namespace {

class OccupiedDevices : public BusTest {
  protected:
    OccupiedDevices() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}}) {}

    // Makes the service sample the GPUs, however recent its last sample is.
    void sample() { ASSERT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "dry-run", "b", 1).ok()); }
    // Returns a new environment with the device. Warnings that were sent before the answer have
    // been received.
    static std::string take(Client& client, const UserProcess& shell) {
        const auto call = client.start(managerPath, managerInterface, "Activate", "a{sv}", 2, "pid",
                                       "u", shell.pid(), "gpus", "u", 1U);
        return client.finish(*call).readString();
    }
    static void end(UserProcess& process) {
        process.kill(SIGKILL);
        process.wait();
    }
    static const RecordedSignals::Notice* warning(RecordedSignals& signals) {
        return signals.notice("device-occupied");
    }
    static void expectNamed(RecordedSignals& signals, const UserProcess& process, core::Uid owner) {
        ASSERT_NE(warning(signals), nullptr) << "before the answer";
        EXPECT_EQ(warning(signals)->details.at("pid"), std::to_string(process.pid()));
        EXPECT_EQ(warning(signals)->details.at("owner"), std::to_string(owner));
    }
};

TEST_F(OccupiedDevices, ComeWithThePidAndTheOwnerOfTheProcess) {
    const UserProcess shell(alice);
    const UserProcess program({.uid = bob, .compute = true});
    sample();
    RecordedSignals signals(*asAlice);
    take(*asAlice, shell);
    expectNamed(signals, program, bob);
}

TEST_F(OccupiedDevices, ComeWithoutAWarningOnceTheProcessIsKilled) {
    const UserProcess shell(alice);
    UserProcess program({.uid = bob, .compute = true});
    sample();
    end(program);
    RecordedSignals signals(*asAlice);
    const std::string id = take(*asAlice, shell);
    EXPECT_EQ(devicesOf(id), "0");
    sample(); // a late warning would arrive before this
    asAlice->ping();
    EXPECT_EQ(warning(signals), nullptr) << "of a process that is gone";
}

TEST_F(OccupiedDevices, ComeWithTheProcessThatIsLeftWhereTheKnownOneWasKilled) {
    const UserProcess shell(alice);
    UserProcess first({.uid = bob, .compute = true});
    sample();
    end(first);
    const UserProcess second({.uid = carol, .compute = true});
    RecordedSignals signals(*asAlice);
    take(*asAlice, shell);
    expectNamed(signals, second, carol);
}

TEST_F(OccupiedDevices, ComeWithTheWarningBeforeTheAnswerAlsoAfterAWait) {
    const UserProcess holder(carol);
    const UserProcess shell(alice);
    const std::string held = activate(*asCarol, holder, 1);
    const auto waiting = asAlice->start(managerPath, managerInterface, "Activate", "a{sv}", 3,
                                        "pid", "u", shell.pid(), "gpus", "u", 1U, "wait", "b", 1);
    waitUntil([&] { return waitingIn(*asRoot).size() == 1; }, "alice to wait");
    UserProcess first({.uid = bob, .compute = true});
    sample();
    end(first);
    const UserProcess second({.uid = bob, .compute = true});
    RecordedSignals signals(*asAlice);
    ASSERT_TRUE(asCarol->environment(held, "Detach", "au", 0).ok());
    EXPECT_TRUE(asAlice->finish(*waiting).ok());
    expectNamed(signals, second, bob);
}

} // namespace
} // namespace genv::tests
