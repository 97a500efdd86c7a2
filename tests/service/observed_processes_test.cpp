// SPDX-License-Identifier: LGPL-2.1-or-later
// The data about many processes that is kept from one observation to the next. It is refreshed in
// turn, and never used for a process that has exited or whose ancestors have.
#include "service/processes/observed_processes.hpp"
#include "service/processes/proc_files.hpp"
#include "tests/service/child.hpp"
#include "tests/service/hung_entry.hpp"
#include "tests/service/proc_access.hpp"

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <filesystem>

namespace genv::tests {
namespace {

using core::ObservedProcess;
using service::ObservedProcesses;

/// A process that executes another program with a claim in its environment on command.
class Claimant {
  public:
    Claimant() {
        if (::pipe2(commands_.data(), O_CLOEXEC) < 0)
            throw std::runtime_error("pipe");
        pid_ = ::fork();
        if (pid_ == 0)
            waitAndClaim();
    }
    Claimant(const Claimant&) = delete;
    Claimant& operator=(const Claimant&) = delete;
    ~Claimant() {
        end();
        for (const int fd : commands_)
            ::close(fd);
    }

    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(pid_); }
    /// Sends the command and waits for the execution.
    void claim() {
        ASSERT_EQ(::write(commands_[1], "x", 1), 1);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
        while (!service::readEnvironmentHint(pid())) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            ::sched_yield();
        }
    }
    /// Kills and reaps it.
    void end() {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }

  private:
    [[noreturn]] void waitAndClaim() const {
        char byte = 0;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::read(commands_[0], &byte, 1) == 1) {
            char claim[] = "GENV_ENVIRONMENT_ID=7";
            char* variables[] = {claim, nullptr};
            ::execle("/usr/bin/tail", "tail", "-f", "/dev/null", nullptr, variables);
        }
        ::_exit(127);
    }

    std::array<int, 2> commands_{};
    pid_t pid_ = -1;
};

/// A process whose parent is not a child of the test for ever.
class Grandchild {
  public:
    Grandchild() {
        std::array<int, 2> output{};
        if (::pipe2(output.data(), O_CLOEXEC) < 0)
            throw std::runtime_error("pipe");
        parent_ = ::fork();
        if (parent_ == 0) {
            const pid_t child = ::fork();
            if (child > 0 && ::write(output[1], &child, sizeof child) != sizeof child)
                ::_exit(1);
            for (;;)
                ::pause();
        }
        ::close(output[1]);
        if (::read(output[0], &pid_, sizeof pid_) != sizeof pid_)
            throw std::runtime_error("fork");
        ::close(output[0]);
    }
    Grandchild(const Grandchild&) = delete;
    Grandchild& operator=(const Grandchild&) = delete;
    ~Grandchild() {
        ::kill(pid_, SIGKILL);
        endParent();
    }

    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(pid_); }
    [[nodiscard]] core::Pid parent() const { return static_cast<core::Pid>(parent_); }
    void endParent() {
        if (ended_)
            return;
        ended_ = true;
        ::kill(parent_, SIGKILL);
        ::waitpid(parent_, nullptr, 0);
    }

  private:
    pid_t parent_ = -1;
    pid_t pid_ = -1;
    bool ended_ = false;
};

ObservedProcesses::Uses usesOf(const std::vector<core::Pid>& pids) {
    ObservedProcesses::Uses uses;
    for (const core::Pid pid : pids)
        uses[pid] = {{"GPU-" + std::to_string(pid), {}}};
    return uses;
}

std::size_t claims(const std::vector<ObservedProcess>& processes) {
    return static_cast<std::size_t>(
        std::count_if(processes.begin(), processes.end(), [](const ObservedProcess& process) {
            return process.environmentHint == core::EnvironmentHint{"7", std::nullopt};
        }));
}

std::size_t openDescriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                      std::filesystem::directory_iterator()));
}

TEST(ObservedProcesses, AreReadAnewEachTimeWhereTheyAreFew) {
    ObservedProcesses observed(procAccess(), 2);
    Claimant first;
    Claimant second;
    const auto uses = usesOf({first.pid(), second.pid()});
    EXPECT_EQ(claims(observed.look(uses)), 0U);
    first.claim();
    EXPECT_EQ(claims(observed.look(uses)), 1U);
    second.claim();
    EXPECT_EQ(claims(observed.look(uses)), 2U);
}

TEST(ObservedProcesses, OfWhichThereAreManyAreReadByTurns) {
    ObservedProcesses observed(procAccess(), 2);
    std::deque<Claimant> many(5);
    std::vector<core::Pid> pids;
    for (const Claimant& each : many)
        pids.push_back(each.pid());
    EXPECT_EQ(claims(observed.look(usesOf(pids))), 0U);
    for (Claimant& each : many)
        each.claim();
    EXPECT_EQ(claims(observed.look(usesOf(pids))), 2U);
    EXPECT_EQ(claims(observed.look(usesOf(pids))), 4U);
    const auto processes = observed.look(usesOf(pids));
    EXPECT_EQ(claims(processes), 5U);
    std::sort(pids.begin(), pids.end());
    ASSERT_EQ(processes.size(), pids.size());
    for (std::size_t i = 0; i < pids.size(); ++i) {
        EXPECT_EQ(processes[i].facts.identity.pid, pids[i]);
        ASSERT_EQ(processes[i].uses.size(), 1U);
        EXPECT_EQ(processes[i].uses[0].device, "GPU-" + std::to_string(pids[i]));
    }
}

/// A process with the PID of one that is gone, which root may make.
class Successor {
  public:
    explicit Successor(core::Pid pid) : pid_(static_cast<pid_t>(pid)) {
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        arguments.set_tid = reinterpret_cast<std::uint64_t>(&pid_);
        arguments.set_tid_size = 1;
        const long made = ::syscall(SYS_clone3, &arguments, sizeof arguments);
        if (made == 0) {
            for (;;)
                ::pause();
        }
        EXPECT_EQ(made, pid_);
    }
    Successor(const Successor&) = delete;
    Successor& operator=(const Successor&) = delete;
    ~Successor() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

  private:
    pid_t pid_;
};

// On this, readProcess() relies: all that it reads is about one process.
TEST(ObservedProcesses, HaveAFolderInProcThatIsNeverAnothersWithTheSamePid) {
    Claimant process;
    const core::Pid pid = process.pid();
    const core::Descriptor folder(
        ::open(("/proc/" + std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto canRead = [&] {
        return core::Descriptor(::openat(folder.get(), "stat", O_RDONLY | O_CLOEXEC)).get() >= 0;
    };
    EXPECT_TRUE(canRead());
    process.end();
    const Successor successor(pid);
    EXPECT_FALSE(canRead());
    EXPECT_TRUE(service::readProcess(pid));
}

TEST(AncestorFiles, SayWhatIsTrueNow) {
    service::AncestorFiles files;
    Grandchild process;
    const auto before = files.read(process.pid());
    ASSERT_TRUE(before);
    EXPECT_EQ(before->parent, process.parent());
    process.endParent();
    const auto orphaned = files.read(process.pid());
    ASSERT_TRUE(orphaned);
    EXPECT_NE(orphaned->parent, process.parent());

    Claimant old;
    const core::Pid pid = old.pid();
    EXPECT_TRUE(files.read(pid));
    old.end();
    EXPECT_FALSE(files.read(pid));

    Claimant another;
    const core::Pid shared = another.pid();
    EXPECT_EQ(files.read(shared)->parent, static_cast<core::Pid>(::getpid()));
    another.end();
    const Successor successor(shared);
    const auto its = files.read(shared);
    ASSERT_TRUE(its);
    EXPECT_EQ(its->startTime, service::readIdentity(shared)->startTime);
}

TEST(ObservedProcesses, ThatAreGoneAreNotTakenForThoseThatGetTheirPid) {
    ObservedProcesses observed(procAccess(), 0); // data stays valid for the maximum time
    Claimant old;
    const core::Pid pid = old.pid();
    ASSERT_EQ(observed.look(usesOf({pid})).size(), 1U);
    old.claim();
    ASSERT_EQ(claims(observed.look(usesOf({pid}))), 0U) << "it is known";
    old.end();
    EXPECT_TRUE(observed.look(usesOf({pid})).empty());

    Claimant another;
    ASSERT_EQ(observed.look(usesOf({another.pid()})).size(), 1U);
    const auto dead = another.pid();
    another.end();
    const Successor successor(dead);
    const auto seen = observed.look(usesOf({dead}));
    const auto facts = service::readProcess(dead);
    ASSERT_EQ(seen.size(), 1U);
    ASSERT_TRUE(facts);
    EXPECT_EQ(seen[0].facts.identity, facts->identity);
}

TEST(ObservedProcesses, LoseAnAncestorThatHasExitedWhenTheirTurnComes) {
    ObservedProcesses observed(procAccess(), 1);
    Grandchild process;
    const Child other;
    const auto descends = [&] {
        const auto seen = observed.look(usesOf({process.pid(), other.pid()}));
        return std::any_of(seen.begin(), seen.end(), [&](const ObservedProcess& each) {
            return std::any_of(
                each.ancestors.begin(), each.ancestors.end(),
                [&](const auto& ancestor) { return ancestor.pid == process.parent(); });
        });
    };
    EXPECT_TRUE(descends());
    EXPECT_TRUE(descends());
    process.endParent();
    descends();
    EXPECT_FALSE(descends()) << "each of the two was read since";
}

TEST(ObservedProcesses, HoldNoDescriptorOfWhatUsesNoGpu) {
    std::deque<Child> children(3);
    ObservedProcesses observed(procAccess(), 1);
    observed.look(usesOf({children[0].pid()})); // starts the reader
    observed.look({});
    const std::size_t idle = openDescriptors();
    const auto uses = usesOf({children[0].pid(), children[1].pid(), children[2].pid()});
    EXPECT_EQ(observed.look(uses).size(), 3U);
    EXPECT_EQ(openDescriptors(), idle + 3);
    EXPECT_EQ(observed.look(usesOf({children[0].pid()})).size(), 1U);
    EXPECT_EQ(openDescriptors(), idle + 1);
    EXPECT_TRUE(observed.look({}).empty());
    EXPECT_EQ(openDescriptors(), idle);
}

TEST(ObservedProcesses, LeaveDescriptorsForThoseWhoCall) {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit before = limit;
    ObservedProcesses observed(procAccess(), 0);
    observed.look(usesOf({static_cast<core::Pid>(::getpid())})); // starts the reader
    observed.look({});
    const std::size_t idle = openDescriptors();
    limit.rlim_cur = 4 * idle + 20;
    const std::size_t share = limit.rlim_cur / 2;
    std::deque<Child> children(share + 3);
    std::vector<core::Pid> pids;
    for (const Child& child : children)
        pids.push_back(child.pid());
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    const std::size_t seen = observed.look(usesOf(pids)).size();
    const std::size_t held = openDescriptors() - idle;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(seen, children.size());
    EXPECT_GT(held, 1U);
    EXPECT_LE(held, share);
    EXPECT_EQ(observed.look(usesOf(pids)).size(), children.size());
    EXPECT_GE(openDescriptors() - idle, children.size());
}

TEST(ObservedProcesses, AreSeenWhileNoDescriptorIsFree) {
    ObservedProcesses observed(procAccess(), 1);
    const Child child;
    observed.look(usesOf({child.pid()})); // starts the reader
    observed.look({});
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit before = limit;
    limit.rlim_cur =
        static_cast<rlim_t>(core::Descriptor(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)).get());
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0); // all below it are open
    const std::size_t seen = observed.look(usesOf({child.pid()})).size();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(seen, 1U);
}

TEST(ObservedProcesses, ThatAreZombiesAreGone) {
    for (const std::size_t max : {1U, 0U}) {
        ObservedProcesses observed(procAccess(), max);
        Child child;
        const auto uses = usesOf({child.pid()});
        ASSERT_EQ(observed.look(uses).size(), 1U);
        ::kill(static_cast<pid_t>(child.pid()), SIGKILL);
        siginfo_t info{};
        ASSERT_EQ(::waitid(P_PID, child.pid(), &info, WEXITED | WNOWAIT), 0);
        EXPECT_TRUE(observed.look(uses).empty());
    }
}

TEST(ObservedProcesses, AreAllForgottenWhenManyExitAtOnce) {
    ObservedProcesses observed(procAccess(), 0);
    std::deque<Child> children(130);
    std::vector<core::Pid> pids;
    for (const Child& child : children)
        pids.push_back(child.pid());
    ASSERT_EQ(observed.look(usesOf(pids)).size(), children.size());
    for (Child& child : children)
        child.end();
    EXPECT_TRUE(observed.look(usesOf(pids)).empty());
}

class HungObserved : public ::testing::TestWithParam<std::size_t> {
  protected:
    static constexpr core::Uid nobody = 65534;

    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, for a mount namespace";
        ASSERT_TRUE(HungEntry::isolate());
    }

    std::vector<std::string> logged;
    service::ProcAccess access = procAccess(&logged, std::chrono::milliseconds{0});
    ObservedProcesses observed{access, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Read, HungObserved, ::testing::Values(100, 0),
                         [](const auto& each) { return each.param == 0 ? "ByTurns" : "EachTime"; });

TEST_P(HungObserved, AreOutsideUnderTheUidTheyHave) {
    const Child child({.environment = {"GENV_ENVIRONMENT_ID=7"}, .uid = nobody});
    const Child other({.environment = {"GENV_ENVIRONMENT_ID=7"}, .uid = nobody});
    const HungEntry entry(child.pid(), "stat");
    const auto seen = observed.look(usesOf({child.pid(), other.pid()}));
    ASSERT_EQ(seen.size(), 2U);
    const auto& hung = seen[seen[0].facts.identity.pid == child.pid() ? 0 : 1];
    EXPECT_TRUE(hung.facts.uids.areAll(nobody));
    EXPECT_FALSE(hung.environmentHint);
    EXPECT_TRUE(hung.ancestors.empty());
    EXPECT_FALSE(hung.isUnread) << "rules judge it";
    EXPECT_EQ(hung.uses.size(), 1U);
    EXPECT_GE(hung.facts.identity.startTime, core::ProcessIdentity::unreadStart);
    EXPECT_EQ(claims(seen), 1U) << "the other one is read";
    EXPECT_EQ(logged.size(), 1U);
}

TEST_P(HungObserved, AreTheSameFromOneLookToTheNext) {
    const Child child({.uid = nobody});
    const auto uses = usesOf({child.pid()});
    auto entry = std::make_unique<HungEntry>(child.pid(), "stat");
    const auto first = observed.look(uses);
    const auto second = observed.look(uses);
    ASSERT_EQ(first.size(), 1U);
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(first[0].facts.identity, second[0].facts.identity);
    entry.reset();
    const auto read = observed.look(uses);
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].facts.identity, service::readIdentity(child.pid()));
    if (GetParam() == 0)
        return; // it is known from now on, and not read again
    entry = std::make_unique<HungEntry>(child.pid(), "stat");
    const auto again = observed.look(uses);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].facts.identity, read[0].facts.identity)
        << "whoever hangs by turns gains no time";
    EXPECT_EQ(logged.size(), 1U);
}

TEST_P(HungObserved, AreNotTakenForThoseThatGetTheirPid) {
    Child child({.uid = nobody});
    auto entry = std::make_unique<HungEntry>(child.pid(), "stat");
    const auto uses = usesOf({child.pid()});
    const auto first = observed.look(uses);
    ASSERT_EQ(first.size(), 1U);
    child.end();
    EXPECT_TRUE(observed.look(uses).empty());
}

TEST_P(HungObserved, WhoseEnvironmentAloneHangsAreWhatTheySaidBefore) {
    const Child known({.environment = {"GENV_ENVIRONMENT_ID=7"}, .uid = nobody});
    const Child unknown({.environment = {"GENV_ENVIRONMENT_ID=7"}, .uid = nobody});
    ObservedProcesses each(access, 100);
    ASSERT_EQ(claims(each.look(usesOf({known.pid()}))), 1U);
    const HungEntry entry(known.pid(), "environ");
    const HungEntry another(unknown.pid(), "environ");
    const auto seen = each.look(usesOf({known.pid(), unknown.pid()}));
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(claims(seen), 1U);
    for (const ObservedProcess& process : seen) {
        EXPECT_FALSE(process.isUnread);
        EXPECT_FALSE(process.ancestors.empty()) << "these can be read";
        EXPECT_EQ(process.facts.identity, service::readIdentity(process.facts.identity.pid));
    }
}

TEST_P(HungObserved, AreJudgedFourAtATimeForEachUser) {
    std::deque<Child> children;
    std::deque<HungEntry> entries;
    std::vector<core::Pid> pids;
    for (int i = 0; i < 6; ++i) {
        pids.push_back(children.emplace_back(Child::Options{.uid = nobody}).pid());
        entries.emplace_back(pids.back(), "stat");
    }
    const Child other;
    pids.push_back(other.pid());
    ObservedProcesses minute(procAccess(&logged), GetParam()); // each is tried once
    const auto unread = [](const std::vector<ObservedProcess>& seen) {
        return std::count_if(seen.begin(), seen.end(),
                             [](const ObservedProcess& process) { return process.isUnread; });
    };
    const auto first = minute.look(usesOf(pids));
    EXPECT_EQ(first.size(), 7U);
    EXPECT_EQ(unread(first), 2);
    const auto second = minute.look(usesOf(pids));
    EXPECT_EQ(second.size(), 7U);
    EXPECT_EQ(unread(second), 0);
    EXPECT_EQ(logged.size(), 6U);
}

} // namespace
} // namespace genv::tests
