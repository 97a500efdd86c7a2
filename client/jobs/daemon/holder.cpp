// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/holder.hpp"

#include "core/glibc_pidfd.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace genv::jobs {

namespace {

// Runs in the child. It must keep no descriptor of its parent: the lock of the database is one.
[[noreturn]] void hold(pid_t parent) {
    ::close_range(0, ~0U, 0);
    ::prctl(PR_SET_NAME, "genv-jobs-hold");
    sigset_t none{};
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parent)
        ::pause();
    ::_exit(EXIT_SUCCESS);
}

pid_t startProcess() {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "a process for a request");
    if (child == 0)
        hold(parent);
    return child;
}

void end(pid_t pid) {
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

} // namespace

Holder::Holder() : pid_(startProcess()), process_(::pidfd_open(pid_, 0)) {
    if (!process_.isOpen()) {
        const int error = errno;
        end(pid_);
        throw std::system_error(error, std::generic_category(), "a process for a request");
    }
}

Holder::~Holder() {
    end(pid_);
}

} // namespace genv::jobs
