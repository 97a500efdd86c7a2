// SPDX-License-Identifier: LGPL-2.1-or-later
// A tree of processes forks without a pause while environments come and go. Each process is
// assigned to the right environment, and no other process is terminated.
#include "tests/faults/fixture.hpp"

#include <grp.h>
#include <sys/prctl.h>

#include <random>

namespace genv::tests {
namespace {

/// A root process of alice's that forks children without a pause. Each child forks once more and
/// exits; `breadth` of the last ones live at a time.
class ForkStorm {
  public:
    explicit ForkStorm(int breadth) : pid_(::fork()) {
        if (pid_ == 0)
            run(breadth);
    }
    ForkStorm(const ForkStorm&) = delete;
    ForkStorm& operator=(const ForkStorm&) = delete;
    ~ForkStorm() {
        ::kill(-pid_, SIGKILL);
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(pid_); }
    /// Ends the root process and leaves the children running.
    void endRoot() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    [[nodiscard]] std::vector<core::Pid> children() const {
        std::vector<core::Pid> list;
        const std::string self = std::to_string(pid_);
        std::ifstream file("/proc/" + self + "/task/" + self + "/children");
        for (core::Pid child = 0; file >> child;)
            list.push_back(child);
        return list;
    }

  private:
    [[noreturn]] static void run(int breadth) {
        ::setpgid(0, 0);
        if (::setgroups(0, nullptr) < 0 || ::setresgid(alice, alice, alice) < 0 ||
            ::setresuid(alice, alice, alice) < 0)
            ::_exit(126);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::prctl(PR_SET_DUMPABLE, 1);
        std::vector<pid_t> living;
        for (std::size_t next = 0;; ++next) {
            const pid_t child = ::fork();
            if (child == 0) {
                if (next % 16 == 0) // some use the GPU
                    ::prctl(PR_SET_NAME, computeProcessName);
                ::alarm(60);
                for (;;)
                    ::pause();
            }
            living.push_back(child);
            if (living.size() >= static_cast<std::size_t>(breadth)) {
                ::kill(living.front(), SIGKILL);
                ::waitpid(living.front(), nullptr, 0);
                living.erase(living.begin());
            }
        }
    }
    pid_t pid_ = -1;
};

class Forks : public FaultTest {
  protected:
    /// Returns the environments in the list of compute processes, by PID.
    std::map<core::Pid, std::string> computeProcesses(bool& answered) {
        std::map<core::Pid, std::string> found;
        const Answer answer = asRoot->manager("ListProcesses");
        answered = answer.ok();
        sd_bus_message* message = answer.message.get();
        if (!answered)
            return found;
        sd_bus_message_enter_container(message, 'a', "(uusa(ut))");
        while (sd_bus_message_enter_container(message, 'r', "uusa(ut)") > 0) {
            std::uint32_t pid = 0;
            std::uint32_t uid = 0;
            const char* id = nullptr;
            sd_bus_message_read(message, "uus", &pid, &uid, &id);
            sd_bus_message_skip(message, "a(ut)");
            sd_bus_message_exit_container(message);
            found[pid] = std::to_string(uid) + " " + id;
        }
        return found;
    }
};

TEST_F(Forks, WithoutAPauseConfuseNobodyAndEndWithTheirRoot) {
    UserProcess bobs(ProcessOptions{.uid = bob, .compute = true});
    const std::string his = activate(*asBob, bobs, 1);
    const int rounds = isFull() ? 20 : 4;
    int asked = 0;
    int known = 0;
    for (int round = 0; round < rounds; ++round) {
        ForkStorm storm(200);
        const std::string hers =
            asRoot->manager("Activate", "a{sv}", 2, "pid", "u", storm.pid(), "uid", "u", alice)
                .readString();
        ASSERT_TRUE(asRoot->environment(hers, "Attach", "a{sv}", 1, "count", "u", 2U).ok());
        const std::string path = environmentPath(hers);
        // Descendants are assigned to her environment while they live. A process that exited before
        // the service read it has no environment.
        waitUntil([&] { return storm.children().size() > 100; }, "the storm");
        for (const core::Pid child : storm.children()) {
            ++asked;
            const Answer answer = asRoot->manager("GetEnvironmentByPID", "u", child);
            if (answer.ok()) {
                ++known;
                const char* its = "";
                sd_bus_message_read(answer.message.get(), "o", &its);
                EXPECT_EQ(std::string(its), path);
            } else {
                EXPECT_TRUE(answer.error == error::noSuchEnvironment ||
                            answer.error == error::noSuchProcess)
                    << answer.error;
            }
        }
        bool answered = false;
        for (const auto& [pid, entry] : computeProcesses(answered)) {
            // A process that exited while the service read it, or that an earlier storm left, has
            // no environment.
            if (pid == bobs.pid()) {
                EXPECT_EQ(entry, std::to_string(bob) + " " + his);
            } else {
                EXPECT_TRUE(entry == std::to_string(alice) + " " + hers ||
                            entry == std::to_string(alice) + " ")
                    << entry;
            }
        }
        EXPECT_TRUE(answered);
        // Only the environment's processes are terminated in the middle of the storm.
        EXPECT_TRUE(asRoot->environment(hers, "Detach", "au", 0).ok());
        storm.endRoot();
        waitUntil([&] { return environmentCount() == "1"; }, "the environment to end");
        EXPECT_EQ(holders().size(), 1U);
        EXPECT_EQ(devicesOf(his), "0");
    }
    EXPECT_FALSE(bobs.hasEnded());
    EXPECT_GT(known, rounds * 20);
    std::printf("%d processes of storms asked for, %d still lived and were known\n", asked, known);
}

} // namespace
} // namespace genv::tests
