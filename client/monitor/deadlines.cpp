// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/monitor/deadlines.hpp"

#include <algorithm>

namespace genv::monitor {

Deadlines::Deadlines() : thread_([this] { watch(); }) {}

Deadlines::~Deadlines() {
    {
        const std::lock_guard lock(mutex_);
        isStopped_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

Deadlines::Bound::Bound(Deadlines& deadlines, remote::Cancellation& cancellation,
                        Clock::time_point moment)
    : deadlines_(deadlines), cancellation_(cancellation), moment_(moment) {
    const std::lock_guard lock(deadlines_.mutex_);
    if (deadlines_.isOver_)
        cancellation_.cancel();
    deadlines_.bounds_.insert(this);
    deadlines_.changed_.notify_all();
}

Deadlines::Bound::~Bound() {
    const std::lock_guard lock(deadlines_.mutex_);
    deadlines_.bounds_.erase(this);
}

void Deadlines::endAll() {
    const std::lock_guard lock(mutex_);
    isOver_ = true;
    for (Bound* bound : bounds_)
        bound->cancellation_.cancel();
}

void Deadlines::watch() {
    std::unique_lock lock(mutex_);
    while (!isStopped_) {
        const auto now = Clock::now();
        auto next = Clock::time_point::max();
        for (Bound* bound : bounds_) {
            if (bound->moment_ <= now && !bound->cancellation_.isCancelled())
                bound->cancellation_.cancel();
            else if (bound->moment_ > now)
                next = std::min(next, bound->moment_);
        }
        if (next == Clock::time_point::max())
            changed_.wait(lock);
        else
            changed_.wait_until(lock, next);
    }
}

} // namespace genv::monitor
