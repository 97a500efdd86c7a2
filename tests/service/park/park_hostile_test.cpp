// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes of a user that attack whoever parks them: genv-park answers on time, and reaches no
// more than the user may.
#include "tests/fake_cuda/channel.hpp"
#include "tests/hostile/hanging_process.hpp"
#include "tests/service/park/park_helper.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include <functional>
#include <memory>

namespace genv::service {
namespace {

using core::ParkingCall;
using tests::becomesTrue;
using tests::CudaMachine;
using tests::CudaProgram;
using tests::ParkHelper;
using tests::parkLine;
using tests::parkTarget;
using tests::parkUser;

// A process of the user that runs a function and then sleeps. It looks like one that uses CUDA.
class Attacker {
  public:
    using Work = std::function<void()>;

    /// `prepare` runs with root's rights and returns the two descriptors to name, and `work` with
    /// the user's.
    Attacker(const std::function<std::array<int, 2>()>& prepare, const Work& work) {
        std::array<int, 2> ready{};
        if (::pipe2(ready.data(), O_CLOEXEC) < 0)
            throw std::runtime_error("pipe");
        pid_ = ::fork();
        if (pid_ == 0) {
            const auto fds = prepare();
            std::array<char, 16> name{};
            std::snprintf(name.data(), name.size(), fake_cuda::threadName, fds[0], fds[1]);
            if (::setgroups(0, nullptr) != 0 || ::setresgid(parkUser, parkUser, parkUser) != 0 ||
                ::setresuid(parkUser, parkUser, parkUser) != 0 ||
                ::prctl(PR_SET_DUMPABLE, 1) != 0 || ::prctl(PR_SET_NAME, name.data()) != 0)
                ::_exit(1);
            ::close(ready[1]);
            work();
            for (;;)
                ::pause();
        }
        ::close(ready[1]);
        char nothing = 0;
        if (::read(ready[0], &nothing, 1) != 0)
            throw std::runtime_error("the attacker does not start");
        ::close(ready[0]);
    }
    Attacker(const Attacker&) = delete;
    Attacker& operator=(const Attacker&) = delete;
    ~Attacker() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    [[nodiscard]] int pid() const { return pid_; }

  private:
    pid_t pid_ = -1;
};

int must(int fd) {
    if (fd < 0)
        ::_exit(1);
    return fd;
}

std::array<int, 2> twoPipes() {
    std::array<int, 2> commands{};
    std::array<int, 2> replies{};
    must(::pipe2(commands.data(), O_CLOEXEC));
    must(::pipe2(replies.data(), O_CLOEXEC));
    must(::fchown(commands[0], parkUser, parkUser));
    must(::fchown(replies[0], parkUser, parkUser));
    return {commands[0], replies[1]};
}

class ParkHostile : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root";
    }

    CudaMachine machine;

    std::string ask(int pid, const std::string& deadline = "30") const {
        ParkHelper helper(machine, parkLine(ParkingCall::Lock, parkTarget(pid)), deadline);
        std::string answer = helper.read();
        helper.wait();
        return answer;
    }
    // Starts a program and a call for it, whose child waits before it looks at the program.
    void startHangingCall(std::unique_ptr<CudaProgram>& program,
                          std::unique_ptr<ParkHelper>& helper, int& child) const {
        program = std::make_unique<CudaProgram>(
            machine, "one", CudaProgram::Options{{}, parkUser, FAKE_CUDA_FOLDER, CUDA_PROGRAM, {}});
        machine.inject({{"caller", {{"load", "hang"}}}});
        helper = std::make_unique<ParkHelper>(
            machine, parkLine(ParkingCall::Lock, parkTarget(program->pid())));
        child = helper->awaitChild();
        ASSERT_GT(child, 0);
    }
    static int asUser(const std::function<bool()>& work) {
        const pid_t user = ::fork();
        if (user == 0)
            ::_exit(::setresuid(parkUser, parkUser, parkUser) == 0 && work() ? 0 : 1);
        int status = -1;
        ::waitpid(user, &status, 0);
        return status;
    }
};

constexpr const char* late = "{\"code\":0,\"fault\":\"deadline\"}\n";
constexpr const char* notPermitted = "{\"code\":304,\"fault\":\"not-permitted\"}\n";

TEST_F(ParkHostile, PipesThatNeverAnswerHoldNobodyUp) {
    const Attacker attacker(twoPipes, [] {});
    EXPECT_EQ(ask(attacker.pid(), "1"), late);
}

TEST_F(ParkHostile, EndlessRepliesHoldNobodyUp) {
    std::array<int, 2> fds{};
    const Attacker attacker([&] { return fds = twoPipes(); },
                            [&] {
                                const std::array<char, 4096> nonsense{};
                                while (::write(fds[1], nonsense.data(), nonsense.size()) > 0) {
                                }
                            });
    EXPECT_EQ(ask(attacker.pid(), "1"), late);
}

TEST_F(ParkHostile, FifosWithoutAnotherEndHoldNobodyUp) {
    const std::string fifo = machine.path() / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
    ASSERT_EQ(::chmod(fifo.c_str(), 0666), 0);
    const Attacker attacker(
        [&] {
            const int fd = must(::open(fifo.c_str(), O_PATH | O_CLOEXEC));
            return std::array<int, 2>{fd, fd};
        },
        [] {});
    EXPECT_EQ(ask(attacker.pid(), "1"), late);
}

TEST_F(ParkHostile, FilesOfRootStayOutOfReach) {
    const std::string secret = machine.path() / "secret";
    std::ofstream(secret) << "of root";
    ASSERT_EQ(::chmod(secret.c_str(), 0600), 0);
    // The descriptors leaked to the user, who may not open the file.
    for (const int flags : {O_PATH, O_RDONLY}) {
        const Attacker attacker(
            [&] {
                const int fd = must(::open(secret.c_str(), flags | O_CLOEXEC));
                return std::array<int, 2>{fd, fd};
            },
            [] {});
        EXPECT_EQ(ask(attacker.pid()), notPermitted);
    }
    std::ifstream file(secret);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "of root");
}

TEST_F(ParkHostile, LyingNamesReachNothing) {
    const Attacker attacker([] { return std::array<int, 2>{98, 99}; }, [] {});
    EXPECT_EQ(ask(attacker.pid()), notPermitted);
}

TEST_F(ParkHostile, ASetuidProgramInTheMiddleIsLeftAlone) {
    std::array<int, 2> go{};
    ASSERT_EQ(::pipe2(go.data(), O_CLOEXEC), 0);
    std::string program;
    const Attacker attacker(
        [&] {
            const auto fds = twoPipes();
            for (const int fd : fds)
                must(::fcntl(fd, F_SETFD, 0));
            // The program's name becomes that of its thread.
            std::array<char, 16> name{};
            std::snprintf(name.data(), name.size(), fake_cuda::threadName, fds[0], fds[1]);
            program = machine.path() / name.data();
            std::filesystem::copy_file("/usr/bin/tail", program);
            must(::chmod(program.c_str(), 04755));
            return fds;
        },
        [&] {
            char byte = 0;
            if (::read(go[0], &byte, 1) == 1)
                ::execl(program.c_str(), "tail", "-f", "/dev/null", nullptr);
            ::_exit(1);
        });
    machine.inject({{"caller", {{"load", "hang"}}}});
    ParkHelper helper(machine, parkLine(ParkingCall::Lock, parkTarget(attacker.pid())));
    ASSERT_GT(helper.awaitChild(), 0);
    ASSERT_EQ(::write(go[1], "x", 1), 1);
    const std::string id = std::to_string(parkUser);
    ASSERT_TRUE(becomesTrue([&] {
        return ParkHelper::statusOf(attacker.pid()).find("\nUid:\t" + id + "\t0\t0\t0\n") !=
               std::string::npos;
    }));
    machine.inject(nlohmann::json::object());
    EXPECT_EQ(helper.read(), notPermitted);
    ::close(go[0]);
    ::close(go[1]);
}

TEST_F(ParkHostile, TheChildIsNoWayToOtherRights) {
    std::unique_ptr<CudaProgram> program;
    std::unique_ptr<ParkHelper> helper;
    int child = 0;
    startHangingCall(program, helper, child);
    EXPECT_EQ(asUser([&] { return ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) < 0; }), 0);
    EXPECT_EQ(asUser([&] {
                  return ::open(("/proc/" + std::to_string(child) + "/mem").c_str(), O_RDWR) < 0;
              }),
              0);
    EXPECT_EQ(asUser([&] { return ::kill(helper->pid(), SIGKILL) < 0; }), 0);
}

TEST_F(ParkHostile, AChildThatItsUserKillsIsReported) {
    std::unique_ptr<CudaProgram> program;
    std::unique_ptr<ParkHelper> helper;
    int child = 0;
    startHangingCall(program, helper, child);
    EXPECT_EQ(asUser([&] { return ::kill(child, SIGKILL) == 0; }), 0);
    EXPECT_EQ(helper->read(), "{\"code\":0,\"fault\":\"helper\"}\n");
    machine.inject(nlohmann::json::object());
    EXPECT_TRUE(program->endsWell());
}

TEST_F(ParkHostile, AProcessThatEndsMeanwhileIsGone) {
    std::unique_ptr<CudaProgram> program;
    std::unique_ptr<ParkHelper> helper;
    int child = 0;
    startHangingCall(program, helper, child);
    program->kill(SIGKILL);
    program->wait();
    machine.inject(nlohmann::json::object());
    EXPECT_EQ(helper->read(), "{\"code\":304,\"fault\":\"gone\"}\n");
}

TEST_F(ParkHostile, FuseFilesInProcThatNeverAnswerHoldNobodyUp) {
    const tests::HangingProcess process(parkUser, false, tests::HangingProcess::Way::Exec);
    const auto target = parkTarget(static_cast<int>(process.pid()));
    ASSERT_TRUE(process.hang("environ"));
    const bool hangs = tests::HangingProcess::hangsReaders(process.pid(), "stat", 1000);
    ParkHelper helper(machine, parkLine(ParkingCall::Lock, target), "1");
    const std::string answer = helper.read();
    // Older kernels let nobody wait for "stat".
    if (hangs)
        EXPECT_EQ(answer, late);
    else
        EXPECT_TRUE(answer == late || answer.find("not-permitted") != std::string::npos) << answer;
    helper.wait();
}

} // namespace
} // namespace genv::service
