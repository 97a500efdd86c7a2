// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/loop.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <exception>
#include <system_error>
#include <utility>

namespace genv::event {

int check(int result, const char* what) {
    if (result < 0)
        throw std::system_error(-result, std::generic_category(), what);
    return result;
}

void guarded(const std::function<void()>& function) noexcept {
    try {
        function();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program_invocation_short_name,
                     core::escaped(error.what(), 512).c_str());
    }
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
    guarded(self->function_);
    return 0;
}

// The kernel's timer is absolute, so it follows a clock that is set.
WallTimer::WallTimer(sd_event* loop, std::function<void()> function)
    : function_(std::move(function)) {
    sd_event_source* source = nullptr;
    check(sd_event_add_time(loop, &source, CLOCK_REALTIME, 0, 1000, &WallTimer::run, this),
          "a timer");
    source_.reset(source);
    check(sd_event_source_set_enabled(source, SD_EVENT_OFF), "a timer");
}

void WallTimer::set(std::chrono::microseconds sinceEpoch) {
    check(sd_event_source_set_time(source_.get(), static_cast<std::uint64_t>(sinceEpoch.count())),
          "a timer");
    check(sd_event_source_set_enabled(source_.get(), SD_EVENT_ONESHOT), "a timer");
}

void WallTimer::stop() {
    sd_event_source_set_enabled(source_.get(), SD_EVENT_OFF);
}

int WallTimer::run(sd_event_source* /*source*/, std::uint64_t /*when*/, void* timer) {
    guarded(static_cast<WallTimer*>(timer)->function_);
    return 0;
}

Deferred::Deferred(sd_event* loop, std::function<void()> function)
    : function_(std::move(function)) {
    sd_event_source* source = nullptr;
    check(sd_event_add_defer(loop, &source, &Deferred::run, this), "a deferred function");
    source_.reset(source);
    check(sd_event_source_set_priority(source, SD_EVENT_PRIORITY_NORMAL + 10),
          "a deferred function");
    check(sd_event_source_set_enabled(source, SD_EVENT_OFF), "a deferred function");
}

void Deferred::schedule() {
    check(sd_event_source_set_enabled(source_.get(), SD_EVENT_ONESHOT), "a deferred function");
}

int Deferred::run(sd_event_source* /*source*/, void* deferred) {
    guarded(static_cast<Deferred*>(deferred)->function_);
    return 0;
}

std::chrono::milliseconds Backoff::next() {
    return std::exchange(delay_, std::min(delay_ * 2, maxDelay));
}

} // namespace genv::event
