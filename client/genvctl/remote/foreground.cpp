// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/remote/foreground.hpp"

#include "client/genvctl/shell/execution.hpp"
#include "core/base/parent_end.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace genv::ctl {

namespace {

constexpr int signalledStatus = 128;

/// Ignores the signals that the terminal sends to both processes, during its lifetime.
class TerminalSignals {
  public:
    TerminalSignals() {
        struct sigaction ignore {};
        ignore.sa_handler = SIG_IGN;
        for (std::size_t i = 0; i < signals.size(); ++i)
            sigaction(signals[i], &ignore, &before_[i]);
    }
    TerminalSignals(const TerminalSignals&) = delete;
    TerminalSignals& operator=(const TerminalSignals&) = delete;
    ~TerminalSignals() { restore(); }

    void restore() const {
        for (std::size_t i = 0; i < signals.size(); ++i)
            sigaction(signals[i], &before_[i], nullptr);
    }

  private:
    static constexpr std::array signals{SIGINT, SIGQUIT};
    std::array<struct sigaction, signals.size()> before_{};
};

int waitForSsh(pid_t child, bool staysAwake) {
    for (;;) {
        int status = 0;
        if (waitpid(child, &status, WUNTRACED) < 0) {
            if (errno == EINTR)
                continue;
            throw std::system_error(errno, std::generic_category(), "waiting for ssh");
        }
        if (WIFSTOPPED(status)) {
            if (!staysAwake)
                kill(0, SIGTSTP); // the shell only sees this process, not the child
            kill(child, SIGCONT);
            continue;
        }
        return WIFSIGNALED(status) ? signalledStatus + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

} // namespace

int runInForeground(const std::vector<std::string>& words, bool staysAwake) {
    const TerminalSignals ignored;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "ssh cannot be started");
    if (child == 0) {
        ignored.restore();
        // Without this process, nothing is held for the command.
        if (core::endWithParent(parent, SIGHUP))
            execute(words);
        _exit(signalledStatus);
    }
    return waitForSsh(child, staysAwake);
}

} // namespace genv::ctl
