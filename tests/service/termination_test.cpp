// SPDX-License-Identifier: LGPL-2.1-or-later
// The core's terminator with real processes: it signals the process that was judged, and never
// another process with its PID or a changed one.
#include "core/rules/terminator.hpp"
#include "service/processes/proc_files.hpp"
#include "service/processes/process_table.hpp"
#include "tests/core/fakes.hpp"
#include "tests/service/child.hpp"
#include "tests/service/mailbox.hpp"
#include "tests/service/proc_access.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

namespace genv::tests {
namespace {

using namespace std::chrono_literals;
using core::TerminationOutcome;

// The terminator with the real process table; the test provides the driver's report.
struct Machine {
    FakeObserver observer;
    FakeScheduler scheduler;
    core::EventHub events;
    Mailbox mailbox;
    service::ProcessTable processes{procAccess(), mailbox.post()};
    core::Terminator terminator{processes, observer, scheduler, events, 1, [] { return 10s; }};
    std::optional<TerminationOutcome> outcome;

    core::Judged judge(core::Pid pid) {
        return {service::readProcess(pid).value(),
                ::getuid(),
                {"GPU-0"},
                std::nullopt,
                {core::Reason::admin(), 0}};
    }
    void terminate(const core::Judged& judged) {
        terminator.terminate(judged, [this](TerminationOutcome result) { outcome = result; });
    }
    void report(const core::ProcessFacts& facts) {
        core::ObservedProcess process;
        process.facts = facts;
        process.uses = {{"GPU-0", std::nullopt}};
        core::Observation observation = gpus(1);
        observation.processes = {process};
        observer.answer(observation);
    }
};

TEST(RealTermination, EndsTheProcessThatWasMeant) {
    Machine machine;
    Child child;
    const core::Judged judged = machine.judge(child.pid());
    machine.terminate(judged);
    machine.report(judged.facts);
    EXPECT_EQ(machine.outcome, TerminationOutcome::Signalled);
    EXPECT_EQ(child.waitForSignal(), SIGTERM);
}

TEST(RealTermination, LeavesAProcessAloneThatIsAnotherUsersByNow) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root, to become another user";
    std::array<int, 2> go{};
    std::array<int, 2> done{};
    ASSERT_EQ(::pipe(go.data()) | ::pipe(done.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        bool good = ::read(go[0], &byte, 1) == 1 && ::setresuid(65534, 65534, 65534) == 0;
        good = good && ::write(done[1], &byte, 1) == 1;
        while (good && ::pause() < 0) {
        }
        ::_exit(1);
    }
    Machine machine;
    const core::Judged judged = machine.judge(static_cast<core::Pid>(child));
    machine.terminate(judged);
    char byte = 'x';
    ASSERT_EQ(::write(go[1], &byte, 1), 1);
    ASSERT_EQ(::read(done[0], &byte, 1), 1);
    machine.report(judged.facts);
    EXPECT_EQ(machine.outcome, TerminationOutcome::Changed);
    EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it lives";
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const int descriptor : {go[0], go[1], done[0], done[1]})
        ::close(descriptor);
}

pid_t forkSleeper() {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::signal(SIGTERM, SIG_DFL);
        for (;;)
            ::pause();
    }
    return pid;
}

// Makes the next process of this PID namespace get a PID. Returns false if the kernel does not
// permit it.
bool nextPidIs(pid_t pid) {
    std::ofstream file("/proc/sys/kernel/ns_last_pid");
    file << pid - 1;
    file.flush();
    return static_cast<bool>(file);
}

// Runs as PID 1 of a PID namespace of its own, with its own /proc. Every result but 0 is a failure.
enum Result { Good = 0, NoNamespace = 10, NoRecycling, SignalledAStranger };

Result recycle(bool afterThePin) {
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("proc", "/proc", "proc", 0, nullptr) != 0)
        return NoNamespace;
    Machine machine;
    const pid_t victim = forkSleeper();
    const core::Judged judged = machine.judge(static_cast<core::Pid>(victim));
    if (afterThePin)
        machine.terminate(judged);
    ::kill(victim, SIGKILL);
    ::waitpid(victim, nullptr, 0);
    // Start times count in ticks, so the other process is recreated until its start time differs.
    std::optional<core::ProcessFacts> now;
    do {
        if (now) {
            ::kill(victim, SIGKILL);
            ::waitpid(victim, nullptr, 0);
        }
        if (!nextPidIs(victim) || forkSleeper() != victim)
            return NoRecycling;
        now = service::readProcess(static_cast<core::Pid>(victim));
    } while (now && now->identity == judged.facts.identity);
    if (!afterThePin)
        machine.terminate(judged);
    // The driver's list contains only PIDs, so it now names the other process.
    if (!now)
        return NoRecycling;
    machine.report(*now);
    if (machine.outcome == TerminationOutcome::Signalled)
        return SignalledAStranger;
    machine.scheduler.pass(20s);
    return ::waitpid(victim, nullptr, WNOHANG) == 0 ? Good : SignalledAStranger;
}

int inPidNamespace(bool afterThePin) {
    const pid_t outer = ::fork();
    if (outer == 0) {
        if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
            ::_exit(NoNamespace);
        const pid_t init = ::fork();
        if (init == 0) {
            try {
                ::_exit(recycle(afterThePin));
            } catch (...) {
                ::_exit(99);
            }
        }
        int status = 0;
        ::waitpid(init, &status, 0);
        ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
    }
    int status = 0;
    ::waitpid(outer, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

TEST(RealTermination, NeverSignalsWhoeverGotTheRecycledPid) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root, for a pid namespace";
    EXPECT_EQ(inPidNamespace(true), Good) << "recycled between the pin and the signal";
    EXPECT_EQ(inPidNamespace(false), Good) << "recycled before the pin";
}

} // namespace
} // namespace genv::tests
