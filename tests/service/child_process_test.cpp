// SPDX-License-Identifier: LGPL-2.1-or-later
// A child starts as if from a plain shell, whatever the service has done to itself.
#include "service/posix/child_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::tests {
namespace {

/// Returns what a child prints.
std::string outputOf(const std::string& program, const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0)
        throw std::runtime_error("no socket");
    const core::Descriptor own(ends[0]);
    core::Descriptor other(ends[1]);
    const service::ChildProcess child(program, arguments, other.get());
    other = core::Descriptor();
    std::string output;
    for (char c = 0; ::read(own.get(), &c, 1) == 1;)
        output += c;
    return output;
}

/// Returns the value of a line of proc_pid_status(5).
std::string lineOf(const std::string& key, const std::string& status) {
    const std::string start = "\n" + key + ":\t";
    const auto begin = status.find(start);
    if (begin == std::string::npos)
        throw std::runtime_error("no line " + key);
    const auto value = begin + start.size();
    return status.substr(value, status.find('\n', value) - value);
}

TEST(ChildProcess, StartsWithoutTheSignalsThatTheServiceBlocksAndIgnores) {
    sigset_t blocked{};
    sigset_t before{};
    ::sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto handler = ::signal(SIGUSR2, SIG_IGN);
    const std::string status = outputOf("/bin/cat", {"/proc/self/status"});
    ::signal(SIGUSR2, handler);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(lineOf("SigBlk", status), "0000000000000000");
    const auto ignored = std::stoull(lineOf("SigIgn", status), nullptr, 16);
    EXPECT_EQ(ignored >> (SIGUSR2 - 1) & 1U, 0U);
}

TEST(ChildProcess, LeadsASessionOfItsOwn) {
    const std::string status = outputOf("/bin/cat", {"/proc/self/status"});
    EXPECT_EQ(lineOf("NSsid", status), lineOf("NSpid", status));
}

TEST(ChildProcess, HasNoOtherDescriptorOfTheService) {
    const core::Descriptor inheritable(::fcntl(STDERR_FILENO, F_DUPFD, 100));
    ASSERT_TRUE(inheritable.isOpen());
    const std::string path = "/proc/$$/fd/" + std::to_string(inheritable.get());
    EXPECT_EQ(outputOf("/bin/sh", {"-c", "test -e " + path + " && echo open || echo closed"}),
              "closed\n");
}

TEST(ChildProcess, InheritsTheVariablesThatAreNotTheServicesAlone) {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID",
                             "LISTEN_FDS", "LISTEN_FDNAMES", "GENV_TEST_OTHER"})
        ::setenv(name, "here", 1);
    const std::string variables = outputOf("/usr/bin/env", {});
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID",
                             "LISTEN_FDS", "LISTEN_FDNAMES", "GENV_TEST_OTHER"})
        ::unsetenv(name);
    for (const char* start : {"NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_"})
        EXPECT_EQ(variables.find(start), std::string::npos) << variables;
    EXPECT_NE(variables.find("GENV_TEST_OTHER=here"), std::string::npos) << variables;
}

} // namespace
} // namespace genv::tests
