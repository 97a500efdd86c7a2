// SPDX-License-Identifier: LGPL-2.1-or-later
// GPUs on loan, with real processes and the real helper genv-park: a request takes them, and the
// lender's programs go on when it is done.
#include "tests/bus/support/cuda.hpp"
#include "tests/bus/support/queue.hpp"

#include <signal.h>

#include <chrono>

namespace genv::tests {
namespace {

class Loans : public CudaBusTest {
  protected:
    Loans() {
        configure("[Parking]\nWithoutIsolation=yes\n");
        alicesId = activate(*asAlice, alices, 2);
        bobsId = activate(*asBob, bobs);
    }
    // Alice lends both GPUs, on the first of which she computes.
    void lend(const char* kind = "park", const std::vector<std::string>& arguments = {}) {
        const Answer lent =
            asAlice->environment(alicesId, "Configure", "a{sv}as", 1, "preemptible", "s", kind, 0);
        ASSERT_TRUE(lent.ok()) << lent.text;
        program = compute(alice, alicesId, "alices", arguments);
    }
    Answer attach(Client& client, const std::string& id, std::uint32_t count) {
        return client.environment(id, "Attach", "a{sv}", 1, "count", "u", count);
    }
    void waitFor(const std::string& id, const std::string& state) {
        waitUntil([&] { return stateOf(id) == state; }, ("the state " + state).c_str());
    }

    UserProcess alices{alice};
    UserProcess bobs{bob};
    std::string alicesId;
    std::string bobsId;
    std::unique_ptr<CudaProgram> program;
};

TEST_F(Loans, AreTakenByARequestAndGoOnWhenItIsDone) {
    lend();
    RecordedSignals signals(*asBob);
    asBob->ping();
    const Answer taken = attach(*asBob, bobsId, 1);
    ASSERT_TRUE(taken.ok()) << taken.text;
    asBob->processUntil([&] { return signals.notice("taking") != nullptr; }, "the notice");
    EXPECT_EQ(signals.notice("taking")->uid, bob);
    EXPECT_EQ(signals.notice("taking")->environment, bobsId);
    EXPECT_EQ(signals.notice("taking")->details.at("devices"), "0,1");
    EXPECT_EQ(signals.notice("taking")->details.at("environments"), alicesId);
    EXPECT_EQ(stateOf(alicesId), "parked");
    EXPECT_EQ(propertyOf(alicesId, "ParkedReason"), "taken");
    EXPECT_EQ(propertyOf(alicesId, "TakenBy"), propertyOf(bobsId, "User"));
    EXPECT_EQ(machine.allocations(), 0);
    {
        const auto bobsProgram = compute(bob, bobsId, "bobs", {"--memory", "900"});
        EXPECT_TRUE(bobsProgram->goesOn());
        EXPECT_TRUE(bobsProgram->endsWell());
    }
    EXPECT_TRUE(describedQueue(*asRoot).at(0).contains("resumes"));
    EXPECT_EQ(resume(*asAlice, alicesId).error, error::deviceUnavailable) << "it waits already";
    const auto resuming = asAlice->start(environmentPath(alicesId), environmentInterface, "Resume",
                                         "a{sv}", 1, "wait", "b", 1);
    EXPECT_TRUE(asBob->environment(bobsId, "Detach", "au", 0).ok());
    const Answer& resumed = asAlice->finish(*resuming);
    ASSERT_TRUE(resumed.ok()) << resumed.text;
    EXPECT_EQ(stateOf(alicesId), "active");
    EXPECT_EQ(propertyOf(alicesId, "TakenBy"), "");
    EXPECT_EQ(devicesOf(alicesId), "0,1");
    EXPECT_TRUE(program->goesOn());
    EXPECT_TRUE(program->endsWell()) << "its memory is not what it was";
}

TEST_F(Loans, TellTheLenderWhenTheyAreExpectedBack) {
    lend();
    RecordedSignals signals(*asAlice);
    const auto before = std::chrono::system_clock::now().time_since_epoch();
    const Answer taken = asBob->environment(bobsId, "Attach", "a{sv}", 2, "count", "u", 1U,
                                            "lifetime", "t", std::uint64_t{3600});
    ASSERT_TRUE(taken.ok()) << taken.text;
    asAlice->processUntil([&] { return signals.notice("parked") != nullptr; }, "the notice");
    const RecordedSignals::Notice& parked = *signals.notice("parked");
    EXPECT_EQ(parked.environment, alicesId);
    EXPECT_EQ(parked.details.at("taker"), std::to_string(bob));
    ASSERT_TRUE(parked.details.contains("expected"));
    EXPECT_GT(std::chrono::microseconds{std::stoll(parked.details.at("expected"))}, before)
        << "a time to come";
}

TEST_F(Loans, ThatStayTakenForTheWholeTimeoutAreAwaitedNoLonger) {
    lend();
    ASSERT_TRUE(attach(*asBob, bobsId, 1).ok());
    const auto resuming =
        asAlice->start(environmentPath(alicesId), environmentInterface, "Resume", "a{sv}", 2,
                       "wait", "b", 1, "timeout", "t", std::uint64_t{1});
    EXPECT_EQ(asAlice->finish(*resuming).error, "org.freedesktop.DBus.Error.Timeout");
    EXPECT_EQ(stateOf(alicesId), "parked");
    EXPECT_EQ(waitingIn(*asRoot), std::vector<std::string>{alicesId}) << "it waits by itself";
}

TEST_F(Loans, ThatCannotBeParkedAreNotTaken) {
    lend("park", {"--managed"});
    const Answer refused = attach(*asBob, bobsId, 1);
    EXPECT_EQ(refused.error, error::deviceUnavailable);
    EXPECT_NE(refused.text.find("managed memory"), std::string::npos) << refused.text;
    waitFor(alicesId, "active");
    EXPECT_TRUE(program->goesOn());
}

TEST_F(Loans, NeedIsolationUnlessTheAdministratorDoesWithoutIt) {
    configure("[Parking]\nWithoutIsolation=no\n");
    lend();
    EXPECT_EQ(attach(*asBob, bobsId, 1).error, error::deviceUnavailable);
    EXPECT_EQ(stateOf(alicesId), "active");
    EXPECT_TRUE(program->goesOn());
}

TEST_F(Loans, AreDescribedWhileTheyAreParkedAndGoOnWhenTheTakerLeaves) {
    configure("[Parking]\nWithoutIsolation=yes\nLockTimeout=3s\n");
    lend("park", {"--kernel", "600000"}); // its lock waits for the kernel
    {
        Client leaving(bob);
        const auto call = leaving.start(environmentPath(bobsId), environmentInterface, "Attach",
                                        "a{sv}", 2, "count", "u", 1U, "wait", "b", 1);
        waitUntil(
            [&] {
                while (sd_bus_process(leaving.bus(), nullptr) > 0) {
                }
                return stateOf(alicesId) == "parking";
            },
            "the parking");
        const auto queue = describedQueue(*asRoot);
        ASSERT_EQ(queue.size(), 1U);
        EXPECT_TRUE(queue[0].contains("taking"));
        EXPECT_EQ(queue[0].at("taking-devices"), "0");
    }
    waitFor(alicesId, "active");
    EXPECT_EQ(devicesOf(alicesId), "0,1");
    EXPECT_TRUE(waitingIn(*asRoot).empty());
}

TEST_F(Loans, SurviveAKillOfTheService) {
    lend();
    ASSERT_TRUE(attach(*asBob, bobsId, 2).ok());
    service.end(SIGKILL);
    service.start();
    EXPECT_EQ(stateOf(alicesId), "parked");
    EXPECT_TRUE(asBob->environment(bobsId, "Detach", "au", 0).ok());
    waitFor(alicesId, "active");
    EXPECT_TRUE(program->goesOn());
    EXPECT_TRUE(program->endsWell());
}

} // namespace
} // namespace genv::tests
