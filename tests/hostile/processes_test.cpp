// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes that are not what a caller claims: PIDs that belonged to another process a moment ago
// or to another namespace, descriptors that are not of a process, mixed uids, and a root that is
// root only in its own user namespace.
#include "core/base/glibc_pidfd.hpp"
#include "tests/bus/support/fixture.hpp"
#include "tests/hostile/made.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

namespace genv::tests {
namespace {

std::size_t descriptorsOf(pid_t pid) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd"))
        ++count;
    return count;
}

class Processes : public BusTest {
  protected:
    Processes() : id(activate(*asAlice, shell)) {}

    // The service's threads open a descriptor for a moment when they read a process, so the count
    // is checked repeatedly.
    void awaitNoMoreDescriptorsThan(std::size_t before) {
        waitUntil([&] { return descriptorsOf(service.pid()) <= before; },
                  "what was passed to be closed");
    }

    Answer add(core::Pid pid) { return asAlice->environment(id, "AddProcess", "u", pid); }
    Answer activateBy(int descriptor) {
        return asAlice->manager("Activate", "a{sv}", 1, "process", "h", descriptor);
    }
    std::string registered() {
        return asRoot->property(environmentPath(id), environmentInterface, "Processes");
    }
    [[nodiscard]] std::string shellAlone() const { return std::to_string(shell.pid()); }

    const UserProcess shell{alice};
    const std::string id;
};

TEST_F(Processes, WithMixedUidsAreNobodysOwn) {
    const auto withUids = [](uid_t real, uid_t effective, uid_t saved) {
        return [=](const Made::Report& report) { report(::setresuid(real, effective, saved)); };
    };
    // The uids of a setuid program, and of programs that dropped all but one of their uids.
    const std::vector<std::array<uid_t, 3>> mixed{
        {alice, root, root}, {alice, bob, bob}, {bob, alice, alice}, {alice, alice, root}};
    for (const auto& [real, effective, saved] : mixed) {
        const Made made(withUids(real, effective, saved));
        ASSERT_EQ(made.reported(), 0);
        EXPECT_EQ(add(made.pid()).error, error::accessDenied);
        const int pidfd = ::pidfd_open(static_cast<pid_t>(made.pid()), 0);
        EXPECT_EQ(activateBy(pidfd).error, error::accessDenied);
        ::close(pidfd);
    }
    EXPECT_EQ(registered(), shellAlone());
    EXPECT_EQ(environmentCount(), "1");
}

TEST_F(Processes, ThatAreNoneAreRefused) {
    // A thread has a number like a process, but is not a process.
    const Made threaded([](const Made::Report& report) {
        if (::setresuid(alice, alice, alice) != 0)
            ::_exit(1);
        std::thread([&] {
            report(::syscall(SYS_gettid));
            ::pause();
        }).join();
    });
    EXPECT_EQ(add(static_cast<core::Pid>(threaded.reported())).error, error::noSuchProcess);
    // A descriptor of a thread (PIDFD_THREAD, Linux 6.9) is refused as well: it hangs up with the
    // thread alone.
    for (const long task : {threaded.reported(), static_cast<long>(threaded.pid())}) {
        const int descriptor = ::pidfd_open(static_cast<pid_t>(task), O_EXCL);
        if (descriptor < 0 && errno == EINVAL)
            continue; // this kernel does not provide it
        EXPECT_EQ(activateBy(descriptor).error, error::invalidArgs) << task;
        ::close(descriptor);
    }
    EXPECT_EQ(environmentCount(), "1");
    // A process that has exited and is not reaped.
    const pid_t zombie = ::fork();
    if (zombie == 0)
        ::_exit(::setresuid(alice, alice, alice));
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(zombie), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(add(static_cast<core::Pid>(zombie)).error, error::noSuchProcess);
    const int pidfd = ::pidfd_open(zombie, 0);
    EXPECT_EQ(activateBy(pidfd).error, error::noSuchProcess);
    ::close(pidfd);
    ::waitpid(zombie, nullptr, 0);
    for (const core::Pid none : {core::Pid{0}, core::Pid{4194305}, core::Pid{INT32_MAX},
                                 core::Pid{0x80000000U}, core::Pid{UINT32_MAX}})
        EXPECT_EQ(add(none).error, error::noSuchProcess) << none;
    EXPECT_EQ(registered(), shellAlone());
}

TEST_F(Processes, ThatExitMeanwhileKeepNothingAlive) {
    for (int round = 0; round < 100; ++round) {
        auto brief = std::make_unique<UserProcess>(alice);
        const auto adding = asAlice->start(environmentPath(id), environmentInterface, "AddProcess",
                                           "u", brief->pid());
        brief.reset();
        const Answer& answer = asAlice->finish(*adding);
        EXPECT_TRUE(answer.ok() || answer.error == error::noSuchProcess) << answer.text;
    }
    waitUntil([&] { return registered() == shellAlone(); }, "those that exited to be gone");
}

TEST_F(Processes, OfAnotherPidNamespaceAreWhatTheServiceSees) {
    const Made container([](const Made::Report& report) {
        if (::unshare(CLONE_NEWPID) != 0) {
            report(-1);
            return;
        }
        const pid_t inner = ::fork();
        if (inner == 0) {
            if (::setresuid(alice, alice, alice) != 0)
                ::_exit(1);
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                ::pause();
        }
        report(inner);
    });
    if (container.reported() < 0)
        GTEST_SKIP() << "no pid namespace is to be had";
    // Inside, its PID is 1, which is another process here.
    EXPECT_EQ(add(1).error, error::invalidArgs);
    const auto outer = static_cast<core::Pid>(container.reported());
    waitUntil([&] { return add(outer).ok(); }, "the process to be alice's");
    EXPECT_EQ(registered(), shellAlone() + "," + std::to_string(outer));
}

TEST_F(Processes, AddedTwiceAreThereOnce) {
    const UserProcess another(alice);
    EXPECT_TRUE(add(another.pid()).ok());
    add(another.pid());
    add(shell.pid());
    EXPECT_EQ(registered(), shellAlone() + "," + std::to_string(another.pid()));
    // It cannot keep two environments alive either.
    const UserProcess third(alice);
    const std::string second = activate(*asAlice, third);
    asAlice->environment(second, "AddProcess", "u", another.pid());
    const std::string there =
        asRoot->property(environmentPath(second), environmentInterface, "Processes");
    EXPECT_EQ(there, std::to_string(third.pid()));
}

// -- descriptors

TEST_F(Processes, AreNotWhatAnotherKindOfDescriptorSays) {
    const std::size_t before = descriptorsOf(service.pid());
    const UserProcess bobs(bob);
    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const std::string proc = "/proc/" + std::to_string(shell.pid());
    const std::vector<std::pair<const char*, int>> descriptors{
        {"memfd", ::memfd_create("\nPid:\t1\n", 0)},
        {"socket", sockets[0]},
        {"epoll", ::epoll_create1(0)},
        {"its folder in /proc", ::open(proc.c_str(), O_RDONLY | O_DIRECTORY)},
        {"a path", ::open(proc.c_str(), O_PATH)},
        {"its namespace", ::open((proc + "/ns/pid").c_str(), O_RDONLY)},
        {"its memory", ::open((proc + "/maps").c_str(), O_RDONLY)},
        {"a device", ::open("/dev/zero", O_RDONLY)},
    };
    for (const auto& [what, descriptor] : descriptors) {
        ASSERT_GE(descriptor, 0) << what;
        EXPECT_EQ(activateBy(descriptor).error, error::invalidArgs) << what;
    }
    const int bobsPidfd = ::pidfd_open(static_cast<pid_t>(bobs.pid()), 0);
    EXPECT_EQ(activateBy(bobsPidfd).error, error::accessDenied)
        << "a descriptor gives no more than its pid";
    for (const auto& [what, descriptor] : descriptors)
        ::close(descriptor);
    ::close(sockets[1]);
    ::close(bobsPidfd);
    EXPECT_EQ(environmentCount(), "1");
    awaitNoMoreDescriptorsThan(before);
}

TEST_F(Processes, CannotFillTheServiceWithDescriptors) {
    const std::size_t before = descriptorsOf(service.pid());
    const int pidfd = ::pidfd_open(static_cast<pid_t>(shell.pid()), 0);
    // A call with more descriptors than a method takes never reaches the service.
    Message many = asAlice->newCall("dev.genv.Manager", managerPath, managerInterface, "Activate");
    sd_bus_message_append(many.get(), "a{sv}", 2, "process", "h", pidfd, "id", "h", pidfd);
    EXPECT_EQ(asAlice->send(many).error, error::accessDenied);
    Message elsewhere = asAlice->newCall("dev.genv.Manager", environmentPath(id),
                                         environmentInterface, "Deactivate");
    sd_bus_message_append(elsewhere.get(), "h", pidfd);
    EXPECT_EQ(asAlice->send(elsewhere).error, error::accessDenied);
    for (int i = 0; i < 300; ++i)
        EXPECT_EQ(activateBy(STDIN_FILENO).error, error::invalidArgs);
    ::close(pidfd);
    awaitNoMoreDescriptorsThan(before);
}

// -- recycled pids

// Makes the next process of this PID namespace get a PID. Returns false if the kernel does not
// permit it.
bool nextPidIs(core::Pid pid) {
    std::ofstream file("/proc/sys/kernel/ns_last_pid");
    file << pid - 1;
    file.flush();
    return static_cast<bool>(file);
}

// Returns another process with the PID of one that has exited, or null if that cannot be arranged.
std::unique_ptr<UserProcess> recycled(core::Pid pid, core::Uid uid) {
    for (int attempt = 0; attempt < 1000; ++attempt) {
        if (!nextPidIs(pid))
            return nullptr;
        auto process = std::make_unique<UserProcess>(uid);
        if (process->pid() == pid)
            return process;
    }
    return nullptr;
}

TEST_F(Processes, AreNotTakenForThoseThatHadTheirPid) {
    // polkit is asked while the PID is alice's process, and answers when it is bob's, or another
    // one of alice's.
    for (const core::Uid next : {bob, alice}) {
        for (const bool activates : {false, true}) {
            auto victim = std::make_unique<UserProcess>(alice);
            const core::Pid pid = victim->pid();
            signalDaemon("polkitd", SIGSTOP);
            const auto call = activates ? asAlice->start(managerPath, managerInterface, "Activate",
                                                         "a{sv}", 1, "pid", "u", pid)
                                        : asAlice->start(environmentPath(id), environmentInterface,
                                                         "AddProcess", "u", pid);
            asAlice->ping();
            EXPECT_TRUE(asRoot->manager("ListDevices").ok()) << "the service has read it";
            victim.reset();
            const auto stranger = recycled(pid, next);
            signalDaemon("polkitd", SIGCONT);
            const Answer& answer = asAlice->finish(*call);
            if (!stranger)
                GTEST_SKIP() << "pids cannot be recycled here";
            EXPECT_EQ(answer.error, error::noSuchProcess) << answer.text;
        }
    }
    EXPECT_EQ(registered(), shellAlone());
    EXPECT_EQ(environmentCount(), "1");
}

TEST_F(Processes, ThatHaveARecycledPidAreNoRootProcesses) {
    auto second = std::make_unique<UserProcess>(alice);
    const core::Pid pid = second->pid();
    EXPECT_TRUE(add(pid).ok());
    second.reset();
    waitUntil([&] { return registered() == shellAlone(); }, "it to be gone");
    const auto stranger = recycled(pid, bob);
    if (!stranger)
        GTEST_SKIP() << "pids cannot be recycled here";
    EXPECT_EQ(asBob->manager("GetEnvironmentByPID", "u", pid).error, error::noSuchEnvironment);
    EXPECT_EQ(asAlice->environment(id, "RemoveProcess", "u", pid).error, error::noSuchProcess);
    EXPECT_EQ(registered(), shellAlone());
}

// -- root in a user namespace

TEST_F(Processes, OfARootInItsOwnNamespaceAreStillTheirUsers) {
    const Made imitator([](const Made::Report& report) {
        const auto write = [](const char* file, const char* text) {
            std::ofstream out(file);
            out << text;
            out.flush();
            return static_cast<bool>(out);
        };
        if (::setresgid(bob, bob, bob) != 0 || ::setresuid(bob, bob, bob) != 0)
            ::_exit(1);
        ::prctl(PR_SET_DUMPABLE, 1);
        if (::unshare(CLONE_NEWUSER) != 0 || !write("/proc/self/uid_map", "0 1002 1") ||
            ::geteuid() != 0) {
            report(-2);
            return;
        }
        sd_bus* bus = nullptr;
        sd_bus_error error{};
        if (sd_bus_open_system(&bus) < 0) {
            report(-3);
            return;
        }
        const int result = sd_bus_call_method(bus, "dev.genv.Manager", managerPath,
                                              managerInterface, "Reload", &error, nullptr, "");
        report(result >= 0 ? 0
               : sd_bus_error_has_name(&error, "org.freedesktop.DBus.Error.AccessDenied") != 0 ||
                       sd_bus_error_has_name(
                           &error, "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired") !=
                           0
                   ? 1
                   : 2);
    });
    if (imitator.reported() == -2)
        GTEST_SKIP() << "no user namespace is to be had";
    EXPECT_EQ(imitator.reported(), 1) << "root inside is bob to the bus";
    service.waitForLog("refused dev.genv.Manager.Reload from uid 1002");
}

} // namespace
} // namespace genv::tests
