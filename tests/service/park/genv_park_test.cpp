// SPDX-License-Identifier: LGPL-2.1-or-later
// genv-park on its own, with the fake driver: one request, one answer, and its end.
#include "tests/service/child.hpp"
#include "tests/service/park/park_helper.hpp"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>

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

class GenvPark : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root";
    }

    CudaMachine machine;

    std::unique_ptr<CudaProgram> start(const std::string& name,
                                       std::vector<std::string> arguments = {},
                                       std::function<void()> prepare = {}) {
        return std::make_unique<CudaProgram>(machine, name,
                                             CudaProgram::Options{std::move(arguments), parkUser,
                                                                  FAKE_CUDA_FOLDER, CUDA_PROGRAM,
                                                                  std::move(prepare)});
    }
    // Returns the answer to a request, without its line feed.
    std::string ask(const std::string& line, const std::string& deadline = "30",
                    const std::string& library = FAKE_CUDA_FOLDER) const {
        ParkHelper helper(machine, line, deadline, library);
        std::string answer = helper.read();
        EXPECT_EQ(helper.wait(), 0);
        EXPECT_TRUE(answer.ends_with('\n')) << answer;
        answer.pop_back();
        return answer;
    }
    std::string ask(ParkingCall call, int pid) const {
        return ask(parkLine(call, parkTarget(pid)));
    }
};

TEST_F(GenvPark, AnswersNothingToWhatIsNoRequest) {
    for (const char* line : {"", "reboot", R"({"call":"lock"})", R"({"call":"capability","pid":1})",
                             R"({"call":"state","pid":1,"start":1,"uid":0,"library":"/tmp/x"})"}) {
        ParkHelper helper(machine, line);
        EXPECT_EQ(helper.read(), "") << line;
        EXPECT_EQ(WEXITSTATUS(helper.wait()), 1) << line;
    }
}

TEST_F(GenvPark, ParksAProcessAndLetsItGoOn) {
    const auto program = start("one");
    const int pid = program->pid();
    EXPECT_EQ(ask(ParkingCall::State, pid), R"({"state":"running"})");
    EXPECT_EQ(ask(ParkingCall::Lock, pid), R"({"state":"locked"})");
    EXPECT_EQ(ask(ParkingCall::Checkpoint, pid), R"({"state":"checkpointed"})");
    EXPECT_EQ(machine.allocations(), 0);
    EXPECT_EQ(ask(ParkingCall::State, pid), R"({"state":"checkpointed"})");
    EXPECT_EQ(ask(ParkingCall::Restore, pid), R"({"state":"locked"})");
    EXPECT_EQ(ask(ParkingCall::Unlock, pid), R"({"state":"running"})");
    EXPECT_TRUE(program->goesOn());
    EXPECT_TRUE(program->endsWell());
}

TEST_F(GenvPark, TellsWhyTheDriverRefuses) {
    const auto managed = start("managed", {"--managed"});
    EXPECT_EQ(ask(ParkingCall::Restore, managed->pid()),
              R"({"code":401,"fault":"illegal-state","state":"running"})");
    EXPECT_EQ(ask(ParkingCall::Lock, managed->pid()), R"({"state":"locked"})");
    EXPECT_EQ(ask(ParkingCall::Checkpoint, managed->pid()),
              R"({"code":801,"fault":"not-supported","state":"locked"})");
    const auto busy = start("busy", {"--kernel", "600000"});
    EXPECT_EQ(
        ask(parkLine(ParkingCall::Lock, parkTarget(busy->pid()), std::chrono::milliseconds{20})),
        R"({"code":600,"fault":"not-ready","state":"running"})");
    const tests::Child other({.environment = {"A=B"}, .uid = parkUser});
    EXPECT_EQ(ask(ParkingCall::Lock, static_cast<int>(other.pid())),
              R"({"code":3,"fault":"not-initialized"})");
}

TEST_F(GenvPark, TellsAResultOrAStateThatItDoesNotKnow) {
    const auto program = start("one");
    machine.inject(
        "one", {{"cuCheckpointProcessLock", 719}, {"cuCheckpointProcessGetState", {{"state", 4}}}});
    EXPECT_EQ(ask(ParkingCall::Lock, program->pid()),
              R"({"code":719,"fault":"driver","state":"unknown"})");
    machine.inject("one", {{"cuCheckpointProcessLock", -1}});
    EXPECT_EQ(ask(ParkingCall::Lock, program->pid()),
              R"({"code":0,"fault":"driver","state":"running"})");
}

TEST_F(GenvPark, RefusesAProcessOfSomebodyElse) {
    const auto program = start("one");
    EXPECT_EQ(ask(parkLine(ParkingCall::Lock, parkTarget(program->pid(), tests::otherParkUser))),
              R"({"code":0,"fault":"owner"})");
    EXPECT_EQ(ask(ParkingCall::State, program->pid()), R"({"state":"running"})");
}

TEST_F(GenvPark, RefusesAProcessThatCouldBecomeSomebodyElse) {
    const auto refused = [&](const std::function<bool()>& change) {
        std::array<int, 2> ready{};
        ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
        const pid_t other = ::fork();
        if (other == 0) {
            if (!change())
                ::_exit(1);
            ::close(ready[1]);
            ::pause();
            ::_exit(0);
        }
        ::close(ready[1]);
        char nothing = 0;
        EXPECT_EQ(::read(ready[0], &nothing, 1), 0);
        ::close(ready[0]);
        EXPECT_EQ(ask(ParkingCall::Lock, other), R"({"code":0,"fault":"owner"})");
        ::kill(other, SIGKILL);
        ::waitpid(other, nullptr, 0);
    };
    const uid_t u = parkUser;
    refused([&] { return ::setresgid(u, u, u) == 0 && ::setresuid(u, u, 0) == 0; });
    refused([&] { return ::setresgid(u, u, 0) == 0 && ::setresuid(u, u, u) == 0; });
    refused(
        [&] { return ::setresgid(u, tests::otherParkUser, u) == 0 && ::setresuid(u, u, u) == 0; });
}

TEST_F(GenvPark, RefusesAnotherProcessWithTheSamePid) {
    const auto program = start("one");
    auto target = parkTarget(program->pid());
    ++target.process.startTime;
    EXPECT_EQ(ask(parkLine(ParkingCall::Lock, target)), R"({"code":0,"fault":"gone"})");
    const auto former = parkTarget(program->pid());
    program->kill(SIGKILL);
    program->wait();
    EXPECT_EQ(ask(parkLine(ParkingCall::Lock, former)), R"({"code":0,"fault":"gone"})");
}

TEST_F(GenvPark, RefusesAProcessInAContainer) {
    const uid_t u = parkUser;
    const CudaProgram inUserNamespace(
        machine, "user", {.library = FAKE_CUDA_FOLDER, .program = CUDA_PROGRAM, .prepare = [&] {
                              const std::string map =
                                  std::to_string(u) + ' ' + std::to_string(u) + " 1";
                              if (::setresgid(u, u, u) != 0 || ::setresuid(u, u, u) != 0 ||
                                  ::prctl(PR_SET_DUMPABLE, 1) != 0 || ::unshare(CLONE_NEWUSER) != 0)
                                  ::_exit(1);
                              std::ofstream("/proc/self/setgroups") << "deny";
                              std::ofstream("/proc/self/uid_map") << map;
                              std::ofstream("/proc/self/gid_map") << map;
                          }});
    EXPECT_EQ(ask(ParkingCall::Lock, inUserNamespace.pid()), R"({"code":0,"fault":"container"})");

    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
    const pid_t outer = ::fork();
    if (outer == 0) {
        if (::unshare(CLONE_NEWPID) != 0)
            ::_exit(1);
        const pid_t inner = ::fork();
        if (inner == 0) {
            if (::setresgid(u, u, u) != 0 || ::setresuid(u, u, u) != 0 ||
                ::prctl(PR_SET_DUMPABLE, 1) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
                ::write(ready[1], "x", 1) != 1)
                ::_exit(1);
            ::pause();
            ::_exit(0);
        }
        ::pause();
        ::_exit(0);
    }
    ::close(ready[1]);
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    int inner = 0;
    const std::string own = std::to_string(outer);
    std::ifstream("/proc/" + own + "/task/" + own + "/children") >> inner;
    EXPECT_EQ(ask(ParkingCall::Lock, inner), R"({"code":0,"fault":"container"})");
    ::kill(outer, SIGKILL);
    ::waitpid(outer, nullptr, 0);
    ::close(ready[0]);
}

TEST_F(GenvPark, RefusesAProcessThatItsOwnerMayNotRead) {
    const tests::Child other({.uid = parkUser}); // the change of the uid makes it so
    EXPECT_EQ(ask(ParkingCall::Lock, static_cast<int>(other.pid())),
              R"({"code":0,"fault":"not-permitted"})");
}

TEST_F(GenvPark, GivesUpAtItsDeadline) {
    const auto program = start("one");
    machine.inject("one", {{"cuCheckpointProcessLock", "hang"}});
    EXPECT_EQ(ask(parkLine(ParkingCall::Lock, parkTarget(program->pid())), "1"),
              R"({"code":0,"fault":"deadline"})");
    machine.inject({{"caller", {{"load", "hang"}}}});
    EXPECT_EQ(ask(parkLine(ParkingCall::State, parkTarget(program->pid())), "1"),
              R"({"code":0,"fault":"deadline"})");
}

TEST_F(GenvPark, TellsTheResultIfOnlyTheStateHangs) {
    const auto program = start("one");
    machine.inject("one",
                   {{"cuCheckpointProcessLock", 801}, {"cuCheckpointProcessGetState", "hang"}});
    EXPECT_EQ(ask(parkLine(ParkingCall::Lock, parkTarget(program->pid())), "1"),
              R"({"code":801,"fault":"not-supported"})");
    machine.inject("one", {{"cuCheckpointProcessGetState", "hang"}});
    const auto second = start("two");
    machine.inject("two", {{"cuCheckpointProcessGetState", "hang"}});
    EXPECT_EQ(ask(parkLine(ParkingCall::Lock, parkTarget(second->pid())), "1"),
              R"({"state":"unknown"})");
}

TEST_F(GenvPark, SurvivesALibraryThatCrashesOrPrints) {
    const auto program = start("one");
    machine.inject({{"caller", {{"cuCheckpointProcessLock", "crash"}}}});
    EXPECT_EQ(ask(ParkingCall::Lock, program->pid()), R"({"code":0,"fault":"helper"})");
    machine.inject({{"caller", {{"cuCheckpointProcessGetState", "print"}}}});
    EXPECT_EQ(ask(ParkingCall::State, program->pid()), R"({"state":"running"})");
}

TEST_F(GenvPark, LoadsTheLibraryWithTheRightsOfTheOwnerAlone) {
    const auto program = start("one");
    machine.inject({{"caller", {{"load", "hang"}}}});
    const ParkHelper helper(machine, parkLine(ParkingCall::State, parkTarget(program->pid())));
    const int child = helper.awaitChild();
    const std::string status = ParkHelper::statusOf(child);
    const std::string id = std::to_string(parkUser);
    for (const std::string& line :
         {"Uid:\t" + id + '\t' + id + '\t' + id + '\t' + id + '\n',
          "Gid:\t" + id + '\t' + id + '\t' + id + '\t' + id + '\n', std::string("Groups:\t \n"),
          std::string("CapPrm:\t0000000000000000\n"), std::string("CapEff:\t0000000000000000\n"),
          std::string("CapInh:\t0000000000000000\n"), std::string("CapAmb:\t0000000000000000\n"),
          std::string("NoNewPrivs:\t1\n")})
        EXPECT_NE(status.find(line), std::string::npos) << line << status;
    for (const auto& fd :
         std::filesystem::directory_iterator("/proc/" + std::to_string(child) + "/fd")) {
        std::error_code closed; // it may close the file of a library meanwhile
        EXPECT_EQ(std::filesystem::read_symlink(fd, closed).string().find("socket:"),
                  std::string::npos);
    }
}

TEST_F(GenvPark, DoesNotLoadTheLibraryWithItsOwnGroups) {
    const CudaProgram program(
        machine, "root",
        CudaProgram::Options{.library = FAKE_CUDA_FOLDER, .program = CUDA_PROGRAM});
    const std::string line = parkLine(ParkingCall::State, parkTarget(program.pid(), 0));
    EXPECT_EQ(ask(line), R"({"code":0,"fault":"not-permitted"})")
        << "by the driver: root's process has capabilities";
    const ParkHelper helper(machine, line, "30", FAKE_CUDA_FOLDER,
                            [] { ::prctl(PR_CAPBSET_DROP, CAP_SETGID, 0, 0, 0); });
    EXPECT_EQ(helper.read(), "{\"code\":0,\"fault\":\"helper\"}\n");
}

TEST_F(GenvPark, TakesItsChildAlong) {
    const auto program = start("one");
    machine.inject({{"caller", {{"load", "hang"}}}});
    ParkHelper helper(machine, parkLine(ParkingCall::State, parkTarget(program->pid())));
    const int child = helper.awaitChild();
    ASSERT_GT(child, 0);
    helper.end();
    EXPECT_TRUE(becomesTrue([&] {
        const std::string status = ParkHelper::statusOf(child);
        return status.empty() || status.find("State:\tZ") != std::string::npos;
    }));
}

TEST_F(GenvPark, EndsAChildThatItsUserStops) {
    const auto program = start("one");
    machine.inject({{"caller", {{"load", "hang"}}}});
    ParkHelper helper(machine, parkLine(ParkingCall::State, parkTarget(program->pid())), "2");
    const int child = helper.awaitChild();
    ASSERT_GT(child, 0);
    const pid_t user = ::fork();
    if (user == 0)
        ::_exit(::setresuid(parkUser, parkUser, parkUser) == 0 && ::kill(child, SIGSTOP) == 0 ? 0
                                                                                              : 1);
    int status = -1;
    ::waitpid(user, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(helper.read(), "{\"code\":0,\"fault\":\"deadline\"}\n");
    helper.wait();
    EXPECT_EQ(ParkHelper::statusOf(child), "");
}

TEST_F(GenvPark, LeavesAKilledCallToTheProcessAndTellsItsStateLater) {
    const auto program = start("one");
    const auto target = parkTarget(program->pid());
    EXPECT_EQ(ask(parkLine(ParkingCall::Lock, target)), R"({"state":"locked"})");
    machine.inject("one", {{"cuCheckpointProcessCheckpoint", "hang"}});
    {
        const ParkHelper helper(machine, parkLine(ParkingCall::Checkpoint, target));
        const int child = helper.awaitChild();
        ASSERT_TRUE(becomesTrue([&] {
            std::string place;
            std::ifstream("/proc/" + std::to_string(child) + "/wchan") >> place;
            return place.find("pipe_read") != std::string::npos;
        }));
    }
    machine.inject("one", nlohmann::json::object());
    EXPECT_EQ(ask(parkLine(ParkingCall::State, target)), R"({"state":"checkpointed"})");
    EXPECT_EQ(ask(parkLine(ParkingCall::Restore, target)), R"({"state":"locked"})");
    EXPECT_EQ(ask(parkLine(ParkingCall::Unlock, target)), R"({"state":"running"})");
    EXPECT_TRUE(program->endsWell());
}

TEST_F(GenvPark, TellsWhatTheDriverCanDo) {
    const std::string line = encodeParkRequest(ParkCapabilityRequest{});
    EXPECT_EQ(ask(line), R"({"driver":"13.0","functions":true,"library":true})");
    EXPECT_EQ(ask(line, "30", FAKE_CUDA_OLD_FOLDER),
              R"({"driver":"13.0","functions":false,"library":true})");
    machine.replace("libcuda.so.1", "not a library");
    EXPECT_EQ(ask(line, "30", machine.path()),
              R"({"driver":"","functions":false,"library":false})");
    const auto program = start("one");
    const std::string lock = parkLine(ParkingCall::Lock, parkTarget(program->pid()));
    EXPECT_EQ(ask(lock, "30", FAKE_CUDA_OLD_FOLDER), R"({"code":0,"fault":"old-driver"})");
    EXPECT_EQ(ask(lock, "30", machine.path()), R"({"code":0,"fault":"no-library"})");
}

} // namespace
} // namespace genv::service
