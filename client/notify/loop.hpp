// SPDX-License-Identifier: LGPL-2.1-or-later
// The event loop of genv-notify: sd-event. libgenv's waiting calls take its descriptor, so that one
// thread handles the service, the session bus, timers and signals.
#pragma once

#include <systemd/sd-event.h>

#include <chrono>
#include <functional>
#include <memory>

namespace genv::notify {

/// Releases an object together with its handle.
template <typename Object, Object* (*release)(Object*)>
struct Releaser {
    void operator()(Object* object) const noexcept { release(object); }
};
using EventLoop = std::unique_ptr<sd_event, Releaser<sd_event, sd_event_unref>>;
using EventSource =
    std::unique_ptr<sd_event_source, Releaser<sd_event_source, sd_event_source_disable_unref>>;

/// Creates an event loop. Throws std::system_error.
EventLoop makeLoop();

/// Runs a function after a delay.
class Timer {
  public:
    /// The loop must outlive this object. Throws std::system_error.
    Timer(sd_event* loop, std::function<void()> function);
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    /// Starts the timer once with this delay. Does nothing if it is already running.
    void start(std::chrono::milliseconds delay);
    void stop();

  private:
    static int run(sd_event_source* source, std::uint64_t when, void* timer);

    sd_event* loop_;
    std::function<void()> function_;
    bool isRunning_ = false;
    EventSource source_;
};

/// The growing delay between attempts at something that fails.
class Backoff {
  public:
    /// Returns the delay before the next attempt.
    std::chrono::milliseconds next();
    void succeeded() { delay_ = first; }

  private:
    static constexpr std::chrono::milliseconds first{250};
    static constexpr std::chrono::milliseconds maxDelay{30000};
    std::chrono::milliseconds delay_ = first;
};

/// Throws std::system_error if a call of systemd's library has failed.
int check(int result, const char* what);

} // namespace genv::notify
