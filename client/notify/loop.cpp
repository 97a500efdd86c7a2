// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/notify/loop.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <system_error>
#include <utility>

namespace genv::notify {

int check(int result, const char* what) {
    if (result < 0)
        throw std::system_error(-result, std::generic_category(), what);
    return result;
}

EventLoop makeLoop() {
    sd_event* loop = nullptr;
    check(sd_event_new(&loop), "an event loop");
    return EventLoop(loop);
}

Timer::Timer(sd_event* loop, std::function<void()> function)
    : loop_(loop), function_(std::move(function)) {
    sd_event_source* source = nullptr;
    check(sd_event_add_time(loop, &source, CLOCK_MONOTONIC, 0, 1000, &Timer::run, this), "a timer");
    source_.reset(source);
    check(sd_event_source_set_enabled(source, SD_EVENT_OFF), "a timer");
}

void Timer::start(std::chrono::milliseconds delay) {
    if (std::exchange(isRunning_, true))
        return;
    std::uint64_t now = 0;
    check(sd_event_now(loop_, CLOCK_MONOTONIC, &now), "the time");
    // The time of the loop may be from its last iteration.
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    now = std::max(now, static_cast<std::uint64_t>(time.tv_sec) * 1000000 +
                            static_cast<std::uint64_t>(time.tv_nsec) / 1000);
    check(sd_event_source_set_time(source_.get(),
                                   now + static_cast<std::uint64_t>(delay.count()) * 1000),
          "a timer");
    check(sd_event_source_set_enabled(source_.get(), SD_EVENT_ONESHOT), "a timer");
}

void Timer::stop() {
    isRunning_ = false;
    sd_event_source_set_enabled(source_.get(), SD_EVENT_OFF);
}

int Timer::run(sd_event_source* /*source*/, std::uint64_t /*when*/, void* timer) {
    auto* self = static_cast<Timer*>(timer);
    self->isRunning_ = false;
    try {
        self->function_();
    } catch (const std::exception& error) { // no exception may leave a C handler
        std::fprintf(stderr, "genv-notify: %s\n", error.what());
    }
    return 0;
}

std::chrono::milliseconds Backoff::next() {
    return std::exchange(delay_, std::min(delay_ * 2, maxDelay));
}

} // namespace genv::notify
