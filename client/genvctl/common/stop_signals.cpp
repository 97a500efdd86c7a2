// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/common/stop_signals.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace genv::ctl {

namespace {

int blockedSignals(sigset_t& before) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        // A signal that the caller ignores, as under nohup, stays ignored.
        if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&signals, signal);
    }
    sigprocmask(SIG_BLOCK, &signals, &before);
    const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0) {
        sigprocmask(SIG_SETMASK, &before, nullptr);
        throw std::system_error(errno, std::generic_category(), "waiting for signals");
    }
    return descriptor;
}

int epollOf(int signals, int watched) {
    if (watched < 0)
        return -1;
    const int descriptor = epoll_create1(EPOLL_CLOEXEC);
    epoll_event arrival{EPOLLIN, {}};
    epoll_event closing{EPOLLRDHUP, {}}; // EPOLLHUP is always reported as well
    if (descriptor >= 0 && epoll_ctl(descriptor, EPOLL_CTL_ADD, signals, &arrival) == 0 &&
        (epoll_ctl(descriptor, EPOLL_CTL_ADD, watched, &closing) == 0 || errno == EPERM))
        return descriptor;
    const int error = errno;
    close(descriptor);
    throw std::system_error(error, std::generic_category(), "waiting for signals");
}

} // namespace

StopSignals::StopSignals(int watched)
    : descriptor_(blockedSignals(before_)), both_(epollOf(descriptor_, watched)) {}

StopSignals::~StopSignals() {
    close(descriptor_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int StopSignals::take() const noexcept {
    signalfd_siginfo arrived{};
    const ssize_t length = read(descriptor_, &arrived, sizeof arrived);
    return length == sizeof arrived ? static_cast<int>(arrived.ssi_signo) : 0;
}

void dieBy(int signal) {
    ::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(signal);
    constexpr int signalStatusBase = 128;
    _exit(signalStatusBase + signal);
}

} // namespace genv::ctl
