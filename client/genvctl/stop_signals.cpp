// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/stop_signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace genv::ctl {

namespace {

int blockedSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        // What the caller wants ignored, as nohup does, stays ignored.
        if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&signals, signal);
    }
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0)
        throw std::system_error(errno, std::generic_category(), "waiting for signals");
    return descriptor;
}

} // namespace

StopSignals::StopSignals() : descriptor_(blockedSignals()) {}

StopSignals::~StopSignals() {
    close(descriptor_);
}

} // namespace genv::ctl
