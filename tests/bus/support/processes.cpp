// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/bus/support/processes.hpp"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace genv::tests {

namespace {

void becomeUser(core::Uid uid) {
    // A change of the uid resets the death signal, so it is set afterwards.
    if (uid != 0 && (::setgroups(0, nullptr) < 0 || ::setresgid(uid, uid, uid) < 0 ||
                     ::setresuid(uid, uid, uid) < 0))
        ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_DUMPABLE, 1);
}

[[noreturn]] void waitForever(const ProcessOptions& options, int ready) {
    if (options.compute)
        ::prctl(PR_SET_NAME, computeProcessName);
    ::signal(SIGTERM, options.ignoresSigterm ? SIG_IGN : SIG_DFL);
    const pid_t self = ::getpid();
    if (::write(ready, &self, sizeof(self)) != sizeof(self))
        ::_exit(125);
    ::close(ready);
    for (;;)
        ::pause();
}

// /proc shows the variables with which a program was started, so this executes one (waiter.cpp).
[[noreturn]] void runWaiter(const ProcessOptions& options, int ready) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : options.environment)
        texts.push_back(name + "=" + value);
    std::vector<char*> variables;
    for (std::string& text : texts)
        variables.push_back(text.data());
    variables.push_back(nullptr);
    std::string name = options.compute ? computeProcessName : "program";
    std::string descriptor = std::to_string(ready);
    char waiter[] = GENV_TEST_WAITER;
    char option[] = "-f";
    std::string file = "/tmp/kernel-" + options.jupyterKernel + ".json";
    std::array<char*, 6> arguments{waiter,  name.data(), descriptor.data(),
                                   nullptr, nullptr,     nullptr};
    if (!options.jupyterKernel.empty()) {
        arguments[3] = option;
        arguments[4] = file.data();
    }
    ::execve(waiter, arguments.data(), variables.data());
    ::_exit(127);
}

} // namespace

UserProcess::UserProcess(const ProcessOptions& options) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) < 0)
        throw std::runtime_error("pipe");
    ::fcntl(ready[0], F_SETFD, FD_CLOEXEC);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ready[0]);
        becomeUser(options.uid);
        if (options.hasChild) {
            if (::fork() == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                waitForever(options, ready[1]);
            }
            waitForever({.uid = options.uid}, ::open("/dev/null", O_WRONLY));
        }
        if (!options.environment.empty() || !options.jupyterKernel.empty())
            runWaiter(options, ready[1]);
        waitForever(options, ready[1]);
    }
    ::close(ready[1]);
    pid_t reported = 0;
    const ssize_t count = ::read(ready[0], &reported, sizeof(reported));
    ::close(ready[0]);
    if (pid_ < 0 || count <= 0)
        throw std::runtime_error("a process could not be started");
    if (options.hasChild)
        child_ = reported;
}

UserProcess::~UserProcess() {
    if (!status_) {
        kill(SIGKILL);
        wait();
    }
}

void UserProcess::kill(int signal) const {
    ::kill(pid_, signal);
}

int UserProcess::wait() {
    if (!status_) {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        status_ = status;
    }
    return WIFSIGNALED(*status_) ? WTERMSIG(*status_) : 0;
}

bool UserProcess::hasEnded() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
        status_ = status;
    return status_.has_value();
}

Finished runAs(core::Uid uid, const std::vector<std::string>& command) {
    std::array<int, 2> output{};
    if (::pipe2(output.data(), O_CLOEXEC) < 0)
        throw std::runtime_error("pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        becomeUser(uid);
        ::dup2(output[1], STDOUT_FILENO);
        ::dup2(output[1], STDERR_FILENO);
        std::vector<char*> arguments;
        for (const std::string& argument : command)
            arguments.push_back(const_cast<char*>(argument.c_str()));
        arguments.push_back(nullptr);
        ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(output[1]);
    Finished finished;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = ::read(output[0], buffer.data(), buffer.size())) > 0;)
        finished.output.append(buffer.data(), static_cast<std::size_t>(count));
    ::close(output[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return finished;
}

} // namespace genv::tests
