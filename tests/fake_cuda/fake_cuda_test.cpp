// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake libcuda behaves as the real driver was seen to behave, wherever genv
// could notice a difference.
#include "service/park/cuda_abi.hpp"
#include "tests/fake_cuda/cuda_machine.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>

namespace {

using genv::service::cuda::LockArguments;
using genv::service::cuda::NoArguments;
using genv::service::cuda::ProcessState;
using genv::service::cuda::Result;
using genv::tests::becomesTrue;
using genv::tests::CudaMachine;
using genv::tests::CudaProgram;

constexpr uid_t someUser = 4711;

// A result and then a state, as seen by a caller.
struct Seen {
    Result result;
    ProcessState state;
    friend bool operator==(const Seen&, const Seen&) = default;
};
void PrintTo(const Seen& seen, std::ostream* out) {
    *out << "result " << static_cast<int>(seen.result) << ", state "
         << static_cast<int>(seen.state);
}

class FakeCuda : public testing::Test {
  public:
    FakeCuda() { ::setenv("GENV_FAKE_NVML", (machine.path() / "machine.json").c_str(), 1); }

  protected:
    CudaMachine machine{2};

    static CudaProgram::Options options(std::vector<std::string> arguments = {}) {
        return {.arguments = std::move(arguments),
                .library = std::filesystem::path(FAKE_CUDA).parent_path(),
                .program = CUDA_PROGRAM};
    }
    std::unique_ptr<CudaProgram> start(const std::string& name,
                                       std::vector<std::string> arguments = {}) {
        return std::make_unique<CudaProgram>(machine, name, options(std::move(arguments)));
    }

    static Result lock(int pid, unsigned timeoutMs = 10'000) {
        LockArguments arguments{};
        arguments.timeoutMs = timeoutMs;
        return find<Result(int, LockArguments*)>("Lock")(pid, &arguments);
    }
    static Result change(const char* name, int pid) {
        NoArguments arguments{};
        return find<Result(int, NoArguments*)>(name)(pid, &arguments);
    }
    static Seen state(int pid) {
        ProcessState state{};
        const Result result = find<Result(int, ProcessState*)>("GetState")(pid, &state);
        return {result, state};
    }

  private:
    template <typename Function>
    static Function* find(const std::string& name) {
        static void* const library = ::dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
        return reinterpret_cast<Function*>(
            ::dlsym(library, ("cuCheckpointProcess" + name).c_str()));
    }
};

constexpr Seen running{Result::Success, ProcessState::Running};
constexpr Seen locked{Result::Success, ProcessState::Locked};
constexpr Seen checkpointed{Result::Success, ProcessState::Checkpointed};
constexpr Seen lost{Result::OperatingSystem, ProcessState::Running};

TEST_F(FakeCuda, MovesTheMemoryOfAProgramToItsRssAndBack) {
    const auto program = start("one", {"--memory", "256"});
    const auto before = program->residentMemory();
    EXPECT_TRUE(program->goesOn());
    EXPECT_EQ(lock(program->pid()), Result::Success);
    EXPECT_EQ(state(program->pid()), locked);
    EXPECT_EQ(change("Checkpoint", program->pid()), Result::Success);
    EXPECT_EQ(state(program->pid()), checkpointed);
    EXPECT_GE(program->residentMemory(), before + (256U << 20U));
    EXPECT_EQ(machine.allocations(), 0);
    const auto steps = program->steps();
    EXPECT_EQ(change("Restore", program->pid()), Result::Success);
    EXPECT_EQ(state(program->pid()), locked);
    EXPECT_LT(program->residentMemory(), before + (256U << 20U));
    EXPECT_EQ(program->steps(), steps);
    EXPECT_EQ(change("Unlock", program->pid()), Result::Success);
    EXPECT_EQ(state(program->pid()), running);
    EXPECT_TRUE(program->goesOn());
    EXPECT_TRUE(program->endsWell());
}

TEST_F(FakeCuda, RefusesACallInTheWrongState) {
    const auto program = start("one");
    EXPECT_EQ(change("Checkpoint", program->pid()), Result::IllegalState);
    EXPECT_EQ(change("Restore", program->pid()), Result::IllegalState);
    EXPECT_EQ(change("Unlock", program->pid()), Result::IllegalState);
    EXPECT_EQ(lock(program->pid()), Result::Success);
    EXPECT_EQ(lock(program->pid()), Result::IllegalState);
    EXPECT_EQ(change("Unlock", program->pid()), Result::Success);
    EXPECT_TRUE(program->endsWell());
}

TEST_F(FakeCuda, DoesNotCheckpointManagedMemory) {
    const auto program = start("one", {"--managed"});
    EXPECT_EQ(lock(program->pid()), Result::Success);
    EXPECT_EQ(change("Checkpoint", program->pid()), Result::NotSupported);
    EXPECT_EQ(state(program->pid()), locked);
    EXPECT_EQ(change("Unlock", program->pid()), Result::Success);
    EXPECT_TRUE(program->goesOn());
    EXPECT_TRUE(program->endsWell());
}

TEST_F(FakeCuda, DoesNotLockDuringALongKernel) {
    const auto program = start("one", {"--kernel", "600000"});
    EXPECT_EQ(lock(program->pid(), 20), Result::NotReady);
    EXPECT_EQ(state(program->pid()), running);
}

TEST_F(FakeCuda, LosesAProcessThatHasNoRoomToReturn) {
    const auto one = start("one", {"--memory", "600"});
    EXPECT_EQ(lock(one->pid()), Result::Success);
    EXPECT_EQ(change("Checkpoint", one->pid()), Result::Success);
    {
        const auto other = start("other", {"--memory", "600"});
        EXPECT_EQ(change("Restore", one->pid()), Result::OutOfMemory);
    }
    EXPECT_EQ(change("Restore", one->pid()), Result::OperatingSystem);
    EXPECT_EQ(change("Unlock", one->pid()), Result::OperatingSystem);
    EXPECT_EQ(state(one->pid()), lost);
}

TEST_F(FakeCuda, KeepsAProcessThatMayNotOpenItsGpu) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root";
    const auto program = [&] {
        machine.replace("node", nullptr);
        nlohmann::json gpu{{"uuid", "GPU-0"},
                           {"node", machine.path() / "node"},
                           {"memory", {{"total", CudaMachine::total}, {"used", 0}}}};
        machine.become({{"devices", {gpu}}});
        ::chmod((machine.path() / "node").c_str(), 0666);
        auto user = options();
        user.uid = someUser;
        return std::make_unique<CudaProgram>(machine, "one", user);
    }();
    EXPECT_EQ(lock(program->pid()), Result::Success);
    EXPECT_EQ(change("Checkpoint", program->pid()), Result::Success);
    ::chmod((machine.path() / "node").c_str(), 0600);
    EXPECT_EQ(change("Restore", program->pid()), Result::NotSupported);
    EXPECT_EQ(state(program->pid()), checkpointed);
    ::chmod((machine.path() / "node").c_str(), 0666);
    EXPECT_EQ(change("Restore", program->pid()), Result::Success);
    EXPECT_EQ(change("Unlock", program->pid()), Result::Success);
    EXPECT_TRUE(program->endsWell());
}

TEST_F(FakeCuda, KnowsNoProcessWithoutCuda) {
    EXPECT_EQ(lock(::getpid()), Result::NotInitialized);
    EXPECT_EQ(state(::getpid()).result, Result::NotInitialized);
}

TEST_F(FakeCuda, ObeysOnlyTheOwnerOfTheProcess) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root";
    const auto program = start("one");
    const pid_t other = ::fork();
    if (other == 0) {
        const bool isOther = ::setresuid(someUser, someUser, someUser) == 0;
        ::_exit(isOther && lock(program->pid()) == Result::OperatingSystem ? 0 : 1);
    }
    int status = -1;
    ::waitpid(other, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(state(program->pid()), running);
}

TEST_F(FakeCuda, ParksSeveralProgramsAndDevices) {
    const auto both = start("both", {"--devices", "2"});
    const auto one = start("one");
    EXPECT_EQ(machine.allocations(), 3);
    for (const int pid : {both->pid(), one->pid()}) {
        EXPECT_EQ(lock(pid), Result::Success);
        EXPECT_EQ(change("Checkpoint", pid), Result::Success);
    }
    EXPECT_EQ(machine.allocations(), 0);
    for (const int pid : {both->pid(), one->pid()}) {
        EXPECT_EQ(change("Restore", pid), Result::Success);
        EXPECT_EQ(change("Unlock", pid), Result::Success);
    }
    EXPECT_TRUE(both->endsWell());
    EXPECT_TRUE(one->endsWell());
}

TEST_F(FakeCuda, GivesInjectedResultsAndStates) {
    const auto one = start("one");
    const auto other = start("other");
    machine.inject(
        "one", {{"cuCheckpointProcessLock", 801}, {"cuCheckpointProcessGetState", {{"state", 7}}}});
    EXPECT_EQ(lock(one->pid()), Result::NotSupported);
    EXPECT_EQ(static_cast<int>(state(one->pid()).state), 7);
    EXPECT_EQ(lock(other->pid()), Result::Success);
    machine.inject(
        {{"caller", {{"cuCheckpointProcessUnlock", 401}}},
         {"target", {{"cuCheckpointProcessCheckpoint", {{"result", 2}, {"lost", true}}}}}});
    EXPECT_EQ(change("Unlock", other->pid()), Result::IllegalState);
    EXPECT_EQ(change("Checkpoint", other->pid()), Result::OutOfMemory);
    machine.inject(nlohmann::json::object());
    EXPECT_EQ(state(other->pid()), lost);
}

TEST_F(FakeCuda, GoesOnWithAHangingCallWhenTheFaultEnds) {
    const auto program = start("one");
    machine.inject("one", {{"cuCheckpointProcessLock", "hang"}});
    const pid_t caller = ::fork();
    if (caller == 0)
        ::_exit(lock(program->pid()) == Result::Success ? 0 : 1);
    EXPECT_TRUE(program->goesOn());
    machine.inject("one", nlohmann::json::object());
    int status = -1;
    ::waitpid(caller, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(state(program->pid()), locked);
}

TEST_F(FakeCuda, ForgetsACallerThatWasKilled) {
    const auto program = start("one");
    machine.inject("one", {{"cuCheckpointProcessLock", "hang"}});
    const pid_t caller = ::fork();
    if (caller == 0)
        ::_exit(lock(program->pid()) == Result::Success ? 0 : 1);
    EXPECT_TRUE(becomesTrue([&] { // it waits for the reply
        std::string place;
        std::ifstream("/proc/" + std::to_string(caller) + "/wchan") >> place;
        return place.find("pipe_read") != std::string::npos;
    }));
    ::kill(caller, SIGKILL);
    ::waitpid(caller, nullptr, 0);
    machine.inject("one", nlohmann::json::object());
    EXPECT_EQ(state(program->pid()), locked); // the call went on without its caller
    EXPECT_EQ(change("Unlock", program->pid()), Result::Success);
}

TEST(FakeCudaOld, LacksTheFunctions) {
    void* const library = ::dlopen(FAKE_CUDA_OLD, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(::dlsym(library, "cuInit"), nullptr);
    EXPECT_EQ(::dlsym(library, "cuCheckpointProcessLock"), nullptr);
}

} // namespace
