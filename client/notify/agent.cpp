// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/agent.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace genv::notify {

using event::check;

Agent::Agent(std::function<void(const Notice&)> heard)
    : loop_(event::makeLoop()), link_(loop_.get(), std::move(heard)) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
        check(sd_event_add_signal(loop_.get(), nullptr, signal | SD_EVENT_SIGNAL_PROCMASK,
                                  &Agent::onSignal, this),
              "a signal");
}

int Agent::onSignal(sd_event_source* /*source*/, const signalfd_siginfo* /*info*/, void* agent) {
    static_cast<Agent*>(agent)->end(EXIT_SUCCESS);
    return 0;
}

// A bus that this loop drives ends the loop when it ends itself.
void Agent::endWithLoop() {
    int status = EXIT_FAILURE;
    if (sd_event_get_state(loop_.get()) != SD_EVENT_FINISHED)
        return;
    sd_event_get_exit_code(loop_.get(), &status);
    end(status);
}

int Agent::run() {
    while (!status_) {
        const bool isPending = check(sd_event_prepare(loop_.get()), "the loop") > 0;
        if (!isPending) {
            const bool waited = link_.wait(sd_event_get_fd(loop_.get()));
            constexpr auto untilSomething = static_cast<std::uint64_t>(-1);
            if (check(sd_event_wait(loop_.get(), waited ? 0 : untilSomething), "the loop") == 0)
                continue;
        }
        check(sd_event_dispatch(loop_.get()), "the loop");
        endWithLoop();
    }
    return *status_;
}

} // namespace genv::notify
