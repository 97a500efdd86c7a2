// SPDX-License-Identifier: LGPL-2.1-or-later
// Real processes: pinned by pidfd, told when they exit, and never mistaken for another one.
#include "core/error.hpp"
#include "service/proc_files.hpp"
#include "service/process_table.hpp"
#include "tests/service/child.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <thread>

extern "C" {
#include <sys/pidfd.h>
}

namespace genv::tests {
namespace {

using core::ErrorCode;
using core::TerminationSignal;

template <typename Function>
ErrorCode refusalOf(Function&& function) {
    try {
        function();
    } catch (const core::Error& error) {
        return error.code();
    }
    throw std::logic_error("nothing was refused");
}

class ProcessTable : public ::testing::Test {
  protected:
    ProcessTable() {
        table.onExit([this](const core::ProcessIdentity& process) { exited.push_back(process); });
    }
    // Waits for the loop's descriptor, as the loop does.
    void dispatch() {
        pollfd waiting{table.descriptor(), POLLIN, 0};
        ASSERT_EQ(::poll(&waiting, 1, 10'000), 1);
        table.dispatch();
    }

    service::ProcessTable table;
    std::vector<core::ProcessIdentity> exited;
};

TEST_F(ProcessTable, TellsAnExitOnceAndAtOnce) {
    Child child;
    const auto pin = table.pin(child.pid());
    const auto facts = pin->now();
    ASSERT_TRUE(facts.has_value());
    EXPECT_EQ(facts->identity, pin->identity());
    EXPECT_TRUE(facts->uids.areAll(::getuid()));
    EXPECT_EQ(facts->parent, static_cast<core::Pid>(::getpid()));
    EXPECT_FALSE(pin->hasExited());
    ::kill(static_cast<pid_t>(child.pid()), SIGKILL);
    dispatch();
    ASSERT_EQ(exited.size(), 1U);
    EXPECT_EQ(exited[0], pin->identity());
    EXPECT_TRUE(pin->hasExited()) << "an unreaped zombie has exited";
    EXPECT_FALSE(pin->now().has_value());
    pollfd idle{table.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&idle, 1, 0), 0) << "it does not keep the loop busy";
}

TEST_F(ProcessTable, TellsNothingOfAPinThatIsGone) {
    Child child;
    table.pin(child.pid()).reset();
    Child other;
    const auto pin = table.pin(other.pid());
    child.end();
    other.end();
    dispatch();
    ASSERT_EQ(exited.size(), 1U);
    EXPECT_EQ(exited[0].pid, other.pid());
}

// Who passed a descriptor keeps their own of it, and with it what the kernel would tell of.
TEST_F(ProcessTable, IsNotKeptBusyByADescriptorThatItsOwnerKeeps) {
    Child child;
    const service::Descriptor pidfd(::pidfd_open(static_cast<pid_t>(child.pid()), 0));
    table.pinDescriptor(pidfd.get()).reset();
    child.end();
    pollfd idle{table.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&idle, 1, 0), 0);
}

TEST_F(ProcessTable, PinsNothingThatIsNoLivingProcess) {
    for (const core::Pid pid : {0U, 4194305U, 2147483648U, 4294967295U})
        EXPECT_EQ(refusalOf([&] { table.pin(pid); }), ErrorCode::NoSuchProcess) << pid;
    Child child;
    const core::Pid pid = child.pid();
    ::kill(static_cast<pid_t>(pid), SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(refusalOf([&] { table.pin(pid); }), ErrorCode::NoSuchProcess) << "a zombie";
    child.end();
    EXPECT_EQ(refusalOf([&] { table.pin(pid); }), ErrorCode::NoSuchProcess);
}

TEST_F(ProcessTable, SignalsTheVeryProcess) {
    Child child;
    const auto pin = table.pin(child.pid());
    EXPECT_TRUE(pin->signal(TerminationSignal::Terminate));
    EXPECT_EQ(child.waitForSignal(), SIGTERM);
    EXPECT_FALSE(pin->signal(TerminationSignal::Kill)) << "the pid may be anybody's now";
}

TEST_F(ProcessTable, ResolvesADescriptorOfAProcess) {
    Child child;
    const service::Descriptor pidfd(::pidfd_open(static_cast<pid_t>(child.pid()), 0));
    EXPECT_EQ(table.pinDescriptor(pidfd.get())->identity().pid, child.pid());
    child.end();
    EXPECT_EQ(refusalOf([&] { table.pinDescriptor(pidfd.get()); }), ErrorCode::NoSuchProcess);
    const service::Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(refusalOf([&] { table.pinDescriptor(file.get()); }), ErrorCode::InvalidArgs);
    EXPECT_EQ(refusalOf([&] { table.pinDescriptor(-1); }), ErrorCode::InvalidArgs);
}

TEST_F(ProcessTable, RefusesADescriptorOfAThread) {
    constexpr unsigned threadFlag = O_EXCL; // PIDFD_THREAD, which headers need not have
    std::promise<pid_t> started;
    std::promise<void> over;
    std::thread thread([&] {
        started.set_value(::gettid());
        over.get_future().wait();
    });
    const pid_t follower = started.get_future().get();
    // Also the first thread's: it hangs up with that thread, and not with the process.
    for (const pid_t task : {follower, ::getpid()}) {
        const service::Descriptor pidfd(::pidfd_open(task, threadFlag));
        if (pidfd.get() < 0 && errno == EINVAL) {
            over.set_value();
            thread.join();
            GTEST_SKIP() << "this kernel has no descriptors of threads (Linux 6.9)";
        }
        EXPECT_EQ(refusalOf([&] { table.pinDescriptor(pidfd.get()); }), ErrorCode::InvalidArgs);
    }
    EXPECT_EQ(refusalOf([&] { table.pin(static_cast<core::Pid>(follower)); }),
              ErrorCode::NoSuchProcess);
    over.set_value();
    thread.join();
}

TEST_F(ProcessTable, KnowsAncestorsParentFirst) {
    Child child;
    const auto ancestors = table.ancestors(table.pin(child.pid())->now().value());
    ASSERT_FALSE(ancestors.empty());
    EXPECT_EQ(ancestors[0].pid, static_cast<core::Pid>(::getpid()));
    EXPECT_EQ(ancestors[0], service::readProcess(static_cast<core::Pid>(::getpid()))->identity);
}

TEST(ProcFiles, ReadsProcessesWithHostileNames) {
    for (const char* name : {") R 1 1", "a) S (b", "\n\nUid:\t0\t0\t0\t0", "((((((((", "x"}) {
        Child child({.name = name});
        const auto facts = service::readProcess(child.pid());
        ASSERT_TRUE(facts) << name;
        EXPECT_EQ(facts->parent, static_cast<core::Pid>(::getpid())) << name;
        EXPECT_TRUE(facts->uids.areAll(::getuid())) << name;
    }
}

TEST(ProcFiles, ReadsWhatAProcessSaysOfItself) {
    Child child({.environment = {"A=1", "GENV_ENVIRONMENT_ID=10", "XGENV_ENVIRONMENT_ID=2"}});
    EXPECT_EQ(service::readEnvironmentVariable(child.pid(), "GENV_ENVIRONMENT_ID", 64), "10");
    EXPECT_EQ(service::readEnvironmentVariable(child.pid(), "NONE", 64), std::nullopt);
    EXPECT_EQ(service::readEnvironmentVariable(child.pid(), "GENV_ENVIRONMENT_ID", 1), std::nullopt)
        << "what is too long is no id";
    EXPECT_EQ(service::readEnvironmentVariable(4194305, "A", 64), std::nullopt);
    EXPECT_FALSE(service::readUserNamespaceOwner(child.pid()).has_value());
    EXPECT_FALSE(service::isMpsServer(child.pid()));
    EXPECT_FALSE(service::readArguments(child.pid()).empty());
}

} // namespace
} // namespace genv::tests
