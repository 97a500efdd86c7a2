// SPDX-License-Identifier: LGPL-2.1-or-later
// The process of a program that hears notices: its loop, its signals and its link to the service.
#pragma once

#include "client/loop.hpp"
#include "client/notify/notice_subscription.hpp"

#include <functional>
#include <optional>

namespace genv::notify {

class Agent {
  public:
    /// Passes each notice to `heard`. Throws std::system_error.
    explicit Agent(std::function<void(const Notice&)> heard);
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    [[nodiscard]] sd_event* loop() const { return loop_.get(); }
    NoticeSubscription& link() { return link_; }
    /// Ends run() with this status. The first call counts.
    void end(int status) {
        if (!status_)
            status_ = status;
    }

    /// Runs until end() or a signal. Returns the exit status.
    int run();

  private:
    static int onSignal(sd_event_source* source, const signalfd_siginfo* info, void* agent);

    void endWithLoop();

    event::EventLoop loop_;
    std::optional<int> status_;
    NoticeSubscription link_;
};

} // namespace genv::notify
