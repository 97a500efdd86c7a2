// SPDX-License-Identifier: LGPL-2.1-or-later
// Real processes: pinned by pidfd, reported when they exit, and never confused with another one.
#include "core/base/error.hpp"
#include "core/base/glibc_pidfd.hpp"
#include "service/processes/proc_files.hpp"
#include "service/processes/process_table.hpp"
#include "tests/service/child.hpp"
#include "tests/service/hung_entry.hpp"
#include "tests/service/mailbox.hpp"
#include "tests/service/proc_access.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <future>
#include <optional>
#include <thread>

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

using Ancestry = service::ProcessTable::Ancestry;

class ProcessTable : public ::testing::TestWithParam<Ancestry> {
  protected:
    ProcessTable() {
        table.onExit([this](const core::ProcessIdentity& process) { exited.push_back(process); });
    }
    // Waits for the loop's descriptor, as the loop does.
    void dispatch() {
        pollfd waiting{table.descriptor(), POLLIN, 0};
        ASSERT_EQ(::poll(&waiting, 1, 10'000), 1);
        table.noticeExits();
    }
    // Waits for the answer, and throws its exception.
    template <typename Value, typename Ask>
    Value await(Ask&& ask) {
        std::optional<core::ProcessRead<Value>> answer;
        ask([&](const core::ProcessRead<Value>& read) { answer = read; });
        while (!answer)
            mailbox.take();
        return answer->get();
    }
    core::PinnedProcess pin(core::Pid pid) {
        return await<core::PinnedProcess>(
            [&](auto answer) { table.pin(pid, 0, std::move(answer)); });
    }
    core::PinnedProcess pinDescriptor(int pidfd) {
        return await<core::PinnedProcess>(
            [&](auto answer) { table.pinDescriptor(pidfd, 0, std::move(answer)); });
    }
    core::Lineage lineage(core::Pid pid) {
        return await<core::Lineage>([&](auto answer) { table.lineage(pid, 0, std::move(answer)); });
    }

    // Before the table, because the table starts its worker in this namespace.
    const bool isIsolated = ::geteuid() == 0 && HungEntry::isolate();
    std::vector<std::string> logged;
    Mailbox mailbox;
    service::ProcessTable table{procAccess(&logged), mailbox.post(), GetParam()};
    std::vector<core::ProcessIdentity> exited;
};

INSTANTIATE_TEST_SUITE_P(Ancestry, ProcessTable,
                         ::testing::Values(Ancestry::ByKernel, Ancestry::ByProc),
                         [](const auto& each) {
                             return each.param == Ancestry::ByKernel ? "ByKernel" : "ByProc";
                         });

TEST_P(ProcessTable, TellsAnExitOnceAndAtOnce) {
    Child child;
    const auto [pin, facts] = this->pin(child.pid());
    EXPECT_EQ(facts.identity, pin->identity());
    EXPECT_TRUE(facts.uids.areAll(::getuid()));
    EXPECT_EQ(facts.parent, static_cast<core::Pid>(::getpid()));
    EXPECT_FALSE(pin->hasExited());
    EXPECT_EQ(table.pinned(child.pid()), facts.identity);
    ::kill(static_cast<pid_t>(child.pid()), SIGKILL);
    dispatch();
    ASSERT_EQ(exited.size(), 1U);
    EXPECT_EQ(exited[0], pin->identity());
    EXPECT_TRUE(pin->hasExited()) << "an unreaped zombie has exited";
    EXPECT_FALSE(table.pinned(child.pid()));
    pollfd idle{table.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&idle, 1, 0), 0) << "it does not keep the loop busy";
}

TEST_P(ProcessTable, TellsNothingOfAPinThatIsGone) {
    Child child;
    pin(child.pid());
    Child other;
    const auto pinned = pin(other.pid());
    child.end();
    other.end();
    dispatch();
    ASSERT_EQ(exited.size(), 1U);
    EXPECT_EQ(exited[0].pid, other.pid());
}

// The caller who passed a descriptor keeps a copy of it, which the kernel would keep reporting.
TEST_P(ProcessTable, IsNotKeptBusyByADescriptorThatItsOwnerKeeps) {
    Child child;
    const core::Descriptor pidfd(::pidfd_open(static_cast<pid_t>(child.pid()), 0));
    pinDescriptor(pidfd.get());
    child.end();
    pollfd idle{table.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&idle, 1, 0), 0);
}

TEST_P(ProcessTable, PinsNothingThatIsNoLivingProcess) {
    for (const core::Pid pid : {0U, 4194305U, 2147483648U, 4294967295U})
        EXPECT_EQ(refusalOf([&] { pin(pid); }), ErrorCode::NoSuchProcess) << pid;
    Child child;
    const core::Pid pid = child.pid();
    ::kill(static_cast<pid_t>(pid), SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(refusalOf([&] { pin(pid); }), ErrorCode::NoSuchProcess) << "a zombie";
    child.end();
    EXPECT_EQ(refusalOf([&] { pin(pid); }), ErrorCode::NoSuchProcess);
    EXPECT_EQ(refusalOf([&] { table.hold(pid); }), ErrorCode::NoSuchProcess);
    EXPECT_EQ(refusalOf([&] { lineage(pid); }), ErrorCode::NoSuchProcess);
}

TEST_P(ProcessTable, SignalsTheVeryProcess) {
    Child child;
    const auto held = table.hold(child.pid());
    EXPECT_TRUE(held->signal(TerminationSignal::Terminate));
    EXPECT_EQ(child.waitForSignal(), SIGTERM);
    EXPECT_FALSE(held->signal(TerminationSignal::Kill)) << "the pid may be anybody's now";
    EXPECT_FALSE(held->hasUids({}));
}

TEST_P(ProcessTable, SeesWithoutReadingThatAProcessIsAnotherUsers) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root, for a process of another user";
    const Child child({.uid = 65534});
    const auto held = table.hold(child.pid());
    EXPECT_TRUE(held->hasUids({65534, 65534, 65534, 65534}));
    EXPECT_FALSE(held->hasUids({0, 0, 0, 0}));
    EXPECT_FALSE(held->hasUids({65534, 0, 65534, 65534}));
    EXPECT_EQ(service::ownerOf(child.pid()), core::Uid{65534});
}

TEST_P(ProcessTable, ResolvesADescriptorOfAProcess) {
    Child child;
    const core::Descriptor pidfd(::pidfd_open(static_cast<pid_t>(child.pid()), 0));
    EXPECT_EQ(pinDescriptor(pidfd.get()).pin->identity().pid, child.pid());
    child.end();
    EXPECT_EQ(refusalOf([&] { pinDescriptor(pidfd.get()); }), ErrorCode::NoSuchProcess);
    const core::Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(refusalOf([&] { pinDescriptor(file.get()); }), ErrorCode::InvalidArgs);
    EXPECT_EQ(refusalOf([&] { pinDescriptor(-1); }), ErrorCode::InvalidArgs);
}

TEST_P(ProcessTable, RefusesADescriptorOfAThread) {
    constexpr unsigned threadFlag = O_EXCL; // PIDFD_THREAD; old headers lack it
    std::promise<pid_t> started;
    std::promise<void> over;
    std::thread thread([&] {
        started.set_value(::gettid());
        over.get_future().wait();
    });
    const pid_t follower = started.get_future().get();
    // This applies to the first thread as well: its descriptor hangs up with that thread, and not
    // with the process.
    for (const pid_t task : {follower, ::getpid()}) {
        const core::Descriptor pidfd(::pidfd_open(task, threadFlag));
        if (pidfd.get() < 0 && errno == EINVAL) {
            over.set_value();
            thread.join();
            GTEST_SKIP() << "this kernel has no descriptors of threads (Linux 6.9)";
        }
        EXPECT_EQ(refusalOf([&] { pinDescriptor(pidfd.get()); }), ErrorCode::InvalidArgs);
    }
    EXPECT_EQ(refusalOf([&] { pin(static_cast<core::Pid>(follower)); }), ErrorCode::NoSuchProcess);
    over.set_value();
    thread.join();
}

TEST_P(ProcessTable, KnowsAncestorsParentFirst) {
    Child child;
    const auto self = pin(static_cast<core::Pid>(::getpid()));
    const core::Lineage found = lineage(child.pid());
    EXPECT_EQ(found.facts.identity.pid, child.pid());
    EXPECT_TRUE(found.facts.uids.areAll(::getuid()));
    ASSERT_FALSE(found.ancestors.empty());
    EXPECT_EQ(found.ancestors[0], self.facts.identity) << "which is pinned";
    EXPECT_EQ(found.ancestors[0], service::readIdentity(static_cast<core::Pid>(::getpid())));
    service::AncestorFiles files;
    const auto byProc = service::readLineage(child.pid(), files);
    ASSERT_TRUE(byProc);
    ASSERT_EQ(found.ancestors.size(), byProc->ancestors.size());
    for (std::size_t i = 0; i < found.ancestors.size(); ++i)
        EXPECT_EQ(found.ancestors[i].pid, byProc->ancestors[i].pid);
}

TEST_P(ProcessTable, TellsOfNoJobWhereAProcessIsOutsideSlurm) {
    Child child;
    const auto cgroup = await<std::optional<core::SlurmCgroup>>(
        [&](auto answer) { table.slurmCgroup(child.pid(), 0, std::move(answer)); });
    EXPECT_EQ(cgroup, std::nullopt);
}

TEST_P(ProcessTable, FindsAgainWhatLivesAndNothingElse) {
    Child living;
    Child gone;
    const auto identity = service::readIdentity(living.pid());
    const auto former = service::readIdentity(gone.pid());
    ASSERT_TRUE(identity && former);
    gone.end();
    const auto pins = table.findAgain(
        {*identity, *former, {identity->pid, identity->startTime + 1}, {0, 1}, *identity});
    ASSERT_EQ(pins.size(), 5U);
    ASSERT_NE(pins[0], nullptr);
    EXPECT_EQ(pins[0]->identity(), *identity);
    EXPECT_EQ(pins[1], nullptr);
    EXPECT_EQ(pins[2], nullptr) << "its pid is another's by now";
    EXPECT_EQ(pins[3], nullptr);
    EXPECT_NE(pins[4], nullptr);
    EXPECT_FALSE(table.hasUnverified());
    living.end();
    dispatch();
    EXPECT_EQ(exited, (std::vector{*identity, *identity}));
}

class HungTable : public ProcessTable {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, for a mount namespace";
        ASSERT_TRUE(isIsolated);
    }
};

INSTANTIATE_TEST_SUITE_P(Ancestry, HungTable,
                         ::testing::Values(Ancestry::ByKernel, Ancestry::ByProc),
                         [](const auto& each) {
                             return each.param == Ancestry::ByKernel ? "ByKernel" : "ByProc";
                         });

TEST_P(HungTable, RefusesAProcessThatCannotBeReadAndHoldsItAllTheSame) {
    Child child({.uid = 65534});
    const HungEntry entry(child.pid(), "stat");
    EXPECT_EQ(refusalOf([&] { pin(child.pid()); }), ErrorCode::Timeout);
    EXPECT_EQ(refusalOf([&] { pin(child.pid()); }), ErrorCode::Timeout) << "at once";
    EXPECT_EQ(logged.size(), 1U);
    const auto held = table.hold(child.pid());
    EXPECT_TRUE(held->hasUids({65534, 65534, 65534, 65534}));
    EXPECT_TRUE(held->signal(TerminationSignal::Terminate));
    EXPECT_EQ(child.waitForSignal(), SIGTERM);
}

TEST_P(HungTable, ReadsNoMoreProcessesOfAUserOnceFourHung) {
    std::deque<Child> children;
    std::deque<HungEntry> entries;
    for (int i = 0; i < 4; ++i) {
        const Child& child = children.emplace_back(Child::Options{.uid = 65534});
        entries.emplace_back(child.pid(), "stat");
        EXPECT_EQ(refusalOf([&] { pin(child.pid()); }), ErrorCode::Timeout);
    }
    const Child well({.uid = 65534});
    EXPECT_EQ(refusalOf([&] { pin(well.pid()); }), ErrorCode::Timeout);
    const Child others;
    EXPECT_EQ(pin(others.pid()).facts.identity.pid, others.pid());
    EXPECT_EQ(logged.size(), 4U) << "which are named";
}

TEST_P(HungTable, FindsAgainWhatCannotBeReadAndVerifiesItLater) {
    Child same({.uid = 65534});
    Child another({.uid = 65534});
    const auto identity = service::readIdentity(same.pid());
    const auto other = service::readIdentity(another.pid());
    ASSERT_TRUE(identity && other);
    const core::ProcessIdentity former{other->pid, other->startTime - 1};
    std::deque<HungEntry> entries;
    entries.emplace_back(same.pid(), "stat");
    entries.emplace_back(another.pid(), "stat");
    const auto pins = table.findAgain({*identity, former});
    ASSERT_NE(pins[0], nullptr);
    ASSERT_NE(pins[1], nullptr) << "as far as it is known";
    EXPECT_EQ(pins[1]->identity(), former);
    EXPECT_TRUE(table.hasUnverified());
    entries.clear();
    // The one that was not tried before.
    table.verify();
    mailbox.take();
    EXPECT_EQ(exited, std::vector{former}) << "another one has its pid";
    EXPECT_TRUE(table.hasUnverified()) << "the other one hung lately";
    EXPECT_FALSE(pins[0]->hasExited());
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
    Child child({.environment = {"A=1", "XGENV_ENVIRONMENT_ID=2", "GENV_ENVIRONMENT_ID=10",
                                 "GENV_ENVIRONMENT_CREATED=1600000000000007"}});
    EXPECT_EQ(service::readEnvironmentHint(child.pid()),
              (core::EnvironmentHint{"10", core::fromMicroseconds(1'600'000'000'000'007)}));
    EXPECT_EQ(service::readEnvironmentHint(4194305), std::nullopt);
    EXPECT_FALSE(service::readUserNamespaceOwner(child.pid()).has_value());
    EXPECT_FALSE(service::isMpsServer(child.pid()));
    EXPECT_FALSE(service::readArguments(child.pid()).text.empty());
}

} // namespace
} // namespace genv::tests
