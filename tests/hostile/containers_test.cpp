// SPDX-License-Identifier: LGPL-2.1-or-later
// Rootless containers: their processes have subordinate uids, but belong to the user who made the
// user namespace. Only that user's limits, warnings and enforcement apply to them.
#include "tests/bus/support/fixture.hpp"
#include "tests/hostile/made.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <array>
#include <fstream>

namespace genv::tests {
namespace {

constexpr core::Uid firstSubordinate = 100'000;

void awaitByte(int descriptor) {
    char byte = 0;
    if (::read(descriptor, &byte, 1) != 1)
        ::_exit(1);
}

void giveByte(int descriptor) {
    if (::write(descriptor, "x", 1) != 1)
        ::_exit(1);
}

// Runs in a user namespace of alice's, as user 4 there.
[[noreturn]] void liveInside(int toMapper, int fromMapper) {
    if (::setresgid(alice, alice, alice) != 0 || ::setresuid(alice, alice, alice) != 0)
        ::_exit(1);
    ::prctl(PR_SET_DUMPABLE, 1);
    if (::unshare(CLONE_NEWUSER) != 0)
        ::_exit(1);
    giveByte(toMapper);
    awaitByte(fromMapper);
    if (::setresuid(4, 4, 4) != 0)
        ::_exit(1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, computeProcessName);
    giveByte(toMapper);
    for (;;)
        ::pause();
}

// Does what newuidmap(1) does for a range of /etc/subuid, which needs root.
void makeContainer(const Made::Report& report) {
    std::array<int, 2> toMapper{};
    std::array<int, 2> fromMapper{};
    if (::pipe(toMapper.data()) != 0 || ::pipe(fromMapper.data()) != 0)
        ::_exit(1);
    const pid_t contained = ::fork();
    if (contained == 0) {
        ::close(toMapper[0]);
        liveInside(toMapper[1], fromMapper[0]);
    }
    ::close(toMapper[1]);
    char byte = 0;
    if (::read(toMapper[0], &byte, 1) != 1) {
        report(-2);
        return;
    }
    std::ofstream uidMap("/proc/" + std::to_string(contained) + "/uid_map");
    uidMap << "0 " << alice << " 1\n1 " << firstSubordinate << " 65536\n";
    uidMap.flush();
    if (!uidMap) {
        report(-2);
        return;
    }
    giveByte(fromMapper[1]);
    awaitByte(toMapper[0]);
    report(contained);
}

class RootlessContainers : public BusTest {
  protected:
    RootlessContainers() : BusTest({{"GENV_MOCK_DEVICE_COUNT", "1"}}), container(makeContainer) {}

    void SetUp() override {
        if (container.reported() == -2)
            GTEST_SKIP() << "no user namespace is to be had";
        ASSERT_GT(container.reported(), 0);
    }
    [[nodiscard]] core::Pid contained() const {
        return static_cast<core::Pid>(container.reported());
    }
    [[nodiscard]] bool livesOn() const {
        std::ifstream status("/proc/" + std::to_string(contained()) + "/status");
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("State:"))
                return line.find('Z') == std::string::npos;
        }
        return false;
    }
    /// Retries until the service sees the process: a sample is used for a second.
    Answer terminate(Client& client) {
        waitUntil([&] { return listedAs() != UINT32_MAX; }, "it to be seen");
        return client.manager("TerminateProcess", "u", contained());
    }
    /// Returns the user to whom the list assigns the process.
    core::Uid listedAs() {
        const Answer answer = asBob->manager("ListProcesses");
        sd_bus_message* message = answer.message.get();
        sd_bus_message_enter_container(message, 'a', "(uusa(ut))");
        while (sd_bus_message_enter_container(message, 'r', "uusa(ut)") > 0) {
            core::Pid pid = 0;
            core::Uid uid = 0;
            sd_bus_message_read(message, "uu", &pid, &uid);
            sd_bus_message_skip(message, "sa(ut)");
            sd_bus_message_exit_container(message);
            if (pid == contained())
                return uid;
        }
        return UINT32_MAX;
    }

    const Made container;
};

TEST_F(RootlessContainers, AreCountedAndListedAsTheirsWhoStartedThem) {
    UserProcess beside({.uid = alice, .compute = true});
    waitUntil([&] { return listedAs() != UINT32_MAX; }, "it to be seen");
    EXPECT_EQ(listedAs(), alice);
    EXPECT_TRUE(asRoot->manager("Enforce", "a{sv}", 1, "max-processes-per-user", "u", 1U).ok());
    service.waitForLog("User alice is running 2 compute processes, 1 more than allowed");
    waitUntil([&] { return beside.hasEnded() || !livesOn(); }, "one of the two to end");
    EXPECT_EQ(livesOn(), beside.hasEnded()) << "the other is left";
}

TEST_F(RootlessContainers, AreEndedByWhoStartedThemAndByNoOtherUser) {
    EXPECT_EQ(terminate(*asBob).error, error::interactive);
    EXPECT_TRUE(livesOn());
    const Answer answer = terminate(*asAlice);
    EXPECT_TRUE(answer.ok()) << answer.text;
    waitUntil([&] { return !livesOn(); }, "it to end");
}

// polkit and an administrator's rule get the user's name, not a uid without a name.
TEST_F(RootlessContainers, AreAskedAboutByTheNameOfWhoStartedThem) {
    const Rule rule("bob-ends-alices", R"(action.id == "dev.genv.manager.terminate-others" &&
        subject.user == "bob" && action.lookup("owner") == "alice")");
    const Answer answer = terminate(*asBob);
    EXPECT_TRUE(answer.ok()) << answer.text;
    waitUntil([&] { return !livesOn(); }, "it to end");
}

} // namespace
} // namespace genv::tests
