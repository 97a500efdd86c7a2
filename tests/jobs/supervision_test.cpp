// SPDX-License-Identifier: LGPL-2.1-or-later
// A command under genv-job: its output, its end, and signals from the manager and from others. The
// test takes the part of the user's manager: it is the parent of the process that supervises.
#include "client/jobs/runner/supervision.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace genv::jobs {

namespace {

constexpr std::chrono::milliseconds soon{50};
constexpr std::chrono::milliseconds never{600'000};

/// How the supervising process reports the end of its command, as its own exit status.
enum : int {
    Exited = 0,
    WasKilled = 1,
    WasStoppedAndKilled = 2,
    WasStoppedAndExited = 3,
    Other = 4
};

int reportOf(const Supervised& result) {
    if (result.status == 0)
        return result.wasStopped ? WasStoppedAndExited : Exited;
    if (result.signal == SIGKILL)
        return result.wasStopped ? WasStoppedAndKilled : WasKilled;
    return Other;
}

class SupervisionTest : public testing::Test {
  protected:
    SupervisionTest() {
        std::string name = testing::TempDir() + "supervision.XXXXXX";
        folder = mkdtemp(name.data());
    }
    ~SupervisionTest() override { std::filesystem::remove_all(folder); }

    // Returns the process that supervises a shell script.
    [[nodiscard]] pid_t start(const std::string& script,
                              std::chrono::milliseconds killAfter) const {
        const pid_t child = fork();
        if (child != 0)
            return child;
        int report = Other;
        AttemptOrder order;
        order.command = {"sh", "-c", script};
        order.folder = folder;
        Output output({folder / "log", true, 022});
        blockSignals();
        auto started = startCommand(order);
        if (!output.open() && std::holds_alternative<RunningCommand>(started))
            report = reportOf(superviseCommand(std::get<RunningCommand>(std::move(started)), output,
                                               nullptr, killAfter));
        _exit(report);
    }
    static int resultOf(pid_t child) {
        int status = 0;
        return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                        : Other;
    }
    void awaitFile(const char* name) const {
        while (!std::filesystem::exists(folder / name))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    [[nodiscard]] std::string log() const {
        std::ostringstream text;
        text << std::ifstream(folder / "log").rdbuf();
        return text.str();
    }

    std::filesystem::path folder;
};

TEST_F(SupervisionTest, KillsACommandThatIgnoresItsStop) {
    const pid_t child = start("trap '' TERM; : >ready; while :; do sleep 0.01; done", soon);
    awaitFile("ready");
    kill(child, SIGTERM);
    EXPECT_EQ(resultOf(child), WasStoppedAndKilled);
}

TEST_F(SupervisionTest, DoesNotPassOnTheStopOfTheManager) {
    const pid_t child =
        start("trap 'exit 9' TERM; : >ready; until [ -e go ]; do sleep 0.01; done", never);
    awaitFile("ready");
    kill(child, SIGTERM);
    std::ofstream(folder / "go").put('x');
    EXPECT_EQ(resultOf(child), WasStoppedAndExited);
}

TEST_F(SupervisionTest, PassesOnTheSignalsOfOthers) {
    const pid_t child =
        start("trap 'exit 0' TERM USR1; : >ready; while :; do sleep 0.01; done", never);
    awaitFile("ready");
    const pid_t other = fork();
    if (other == 0) {
        kill(child, SIGTERM);
        _exit(0);
    }
    EXPECT_EQ(resultOf(other), 0);
    EXPECT_EQ(resultOf(child), Exited);
}

TEST_F(SupervisionTest, MovesAllOutputOfALargeCommand) {
    EXPECT_EQ(resultOf(start("head -c 5000000 /dev/zero | tr '\\0' x; echo end", never)), Exited);
    const std::string text = log();
    EXPECT_EQ(text.size(), 5'000'004U);
    EXPECT_TRUE(text.ends_with("xend\n"));
}

TEST_F(SupervisionTest, EndsAlthoughALeftProcessWritesOn) {
    EXPECT_EQ(resultOf(start("(while echo y; do :; done) & echo $! >pid; exit 0", never)), Exited);
    pid_t left = 0;
    std::ifstream(folder / "pid") >> left;
    ASSERT_GT(left, 1);
    kill(left, SIGKILL); // it may have ended, because nobody reads what it writes
}

TEST_F(SupervisionTest, EndsWithTheCommandThatClosedItsOutput) {
    EXPECT_EQ(resultOf(start("exec >&- 2>&-; kill -9 $$", never)), WasKilled);
}

TEST(Stop, IsSeenBeforeThereIsACommand) {
    const pid_t child = fork();
    if (child == 0) {
        blockSignals();
        const bool before = wasStoppedBefore();
        kill(getpid(), SIGTERM);
        _exit(!before && wasStoppedBefore() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

} // namespace

} // namespace genv::jobs
