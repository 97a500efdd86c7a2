// SPDX-License-Identifier: LGPL-2.1-or-later
// A child process that waits to be killed. The test kills and reaps it.
#pragma once

#include "core/base/parent_end.hpp"
#include "core/base/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace genv::tests {

class Child {
  public:
    struct Options {
        const char* name = nullptr; ///< the process name, as for prctl(PR_SET_NAME)
        std::vector<std::string>
            environment{}; ///< runs another program with exactly this environment
        core::Uid uid = 0; ///< of another user, if the test runs as root
    };

    Child() : Child(Options{}) {}
    explicit Child(const Options& options) {
        int started[2];
        if (::pipe2(started, O_CLOEXEC) < 0)
            throw std::runtime_error("pipe");
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            if (options.uid != 0 && ::setresuid(options.uid, options.uid, options.uid) != 0)
                ::_exit(126);
            if (!core::endWithParent(parent, SIGKILL))
                ::_exit(126);
            ::signal(SIGTERM, SIG_DFL);
            if (!options.environment.empty())
                run(options.environment); // closes the pipe when it starts
            if (options.name != nullptr)
                ::prctl(PR_SET_NAME, options.name);
            ::close(started[1]);
            for (;;)
                ::pause();
        }
        ::close(started[1]);
        char byte = 0;
        // End of file: the child is in its final state.
        if (pid_ < 0 || ::read(started[0], &byte, 1) != 0)
            throw std::runtime_error("fork");
        ::close(started[0]);
        if (!options.environment.empty())
            awaitEnvironment();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() { end(); }

    [[nodiscard]] core::Pid pid() const { return static_cast<core::Pid>(pid_); }

    /// Kills and reaps it.
    void end() {
        if (pid_ <= 0 || reaped_)
            return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        reaped_ = true;
    }

    /// Waits until a signal has ended it, and returns the signal.
    int waitForSignal() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        reaped_ = true;
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }

  private:
    // execve(2) closes the pipe before the new program has its arguments and its environment. Until
    // then both are empty in /proc.
    void awaitEnvironment() const {
        const std::string path = "/proc/" + std::to_string(pid_) + "/environ";
        while (std::ifstream(path).peek() == std::ifstream::traits_type::eof()) {
            if (::waitpid(pid_, nullptr, WNOHANG) != 0)
                throw std::runtime_error("execve");
            ::sched_yield();
        }
    }
    [[noreturn]] static void run(const std::vector<std::string>& environment) {
        std::vector<char*> variables;
        for (const std::string& variable : environment)
            variables.push_back(const_cast<char*>(variable.c_str()));
        variables.push_back(nullptr);
        char program[] = "/usr/bin/tail";
        char follow[] = "-f";
        char file[] = "/dev/null";
        char* arguments[] = {program, follow, file, nullptr};
        ::execve(program, arguments, variables.data());
        ::_exit(127);
    }

    pid_t pid_ = -1;
    bool reaped_ = false;
};

} // namespace genv::tests
