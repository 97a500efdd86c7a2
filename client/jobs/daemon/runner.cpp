// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/jobs/daemon/runner.hpp"

#include <sys/epoll.h>

#include <utility>

namespace genv::jobs {

Runner::Runner(sd_event* loop, AttemptName attempt, RunnerChannel channel, const Listener& listener)
    : attempt_(attempt), channel_(std::move(channel)), listener_(listener) {
    sd_event_source* source = nullptr;
    event::check(
        sd_event_add_io(loop, &source, channel_.descriptor(), EPOLLIN, &Runner::onMessage, this),
        "a socket of the loop");
    source_.reset(source);
}

int Runner::onMessage(sd_event_source* /*source*/, int /*socket*/, std::uint32_t /*events*/,
                      void* runner) {
    event::guarded([runner] { static_cast<Runner*>(runner)->receive(); });
    return 0;
}

// The listener may destroy this object, so nothing follows a call of it.
void Runner::receive() {
    RunnerMessage message = channel_.receive();
    const AttemptName attempt = attempt_;
    switch (message.word) {
    case RunnerWord::Nothing:
        return;
    case RunnerWord::Ready:
        process_ = std::move(message.process);
        return listener_.ready(attempt);
    case RunnerWord::Started:
        return listener_.started(attempt);
    case RunnerWord::Start:
    case RunnerWord::End:
        // Otherwise the loop would be told of the end again and again.
        sd_event_source_set_enabled(source_.get(), SD_EVENT_OFF);
        return listener_.ended(attempt);
    }
}

} // namespace genv::jobs
