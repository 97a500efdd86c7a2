// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/terminal/password_agent.hpp"

#include "core/base/parent_end.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace genv::ctl {

namespace {

// Runs in the child. It must not outlive its parent, and inherits only the write end of the pipe.
[[noreturn]] void runAgent(pid_t parent, int notify) {
    const bool endsWithParent = core::endWithParent(parent, SIGTERM);
    // This process may block signals and receive them in another way, but they must end the agent.
    sigset_t noSignals;
    sigemptyset(&noSignals);
    sigprocmask(SIG_SETMASK, &noSignals, nullptr);
    if (endsWithParent) {
        const int kept = dup(notify); // without close-on-exec
        const std::string process = std::to_string(parent);
        const std::string descriptor = std::to_string(kept);
        // --fallback is not used, because such an agent is found only for processes of a login
        // session, not after su or in a container.
        execl(GENV_PKTTYAGENT, GENV_PKTTYAGENT, "--process", process.c_str(), "--notify-fd",
              descriptor.c_str(), static_cast<char*>(nullptr));
    }
    _exit(127);
}

} // namespace

PasswordAgent::PasswordAgent() {
    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
        return;
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) < 0)
        return;
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0)
        runAgent(parent, ends[1]);
    close(ends[1]);
    if (process_ > 0) {
        // The agent closes its end when it is registered, or when it exits.
        char nothing = 0;
        while (read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
}

PasswordAgent::~PasswordAgent() {
    if (process_ <= 0)
        return;
    kill(process_, SIGTERM);
    kill(process_, SIGCONT);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

} // namespace genv::ctl
