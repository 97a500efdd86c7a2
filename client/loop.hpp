// SPDX-License-Identifier: LGPL-2.1-or-later
// The event loop of genv-notify and genv-jobs: sd-event. One thread handles the buses, timers and
// signals. libgenv's waiting calls take the descriptor of the loop.
#pragma once

#include <systemd/sd-event.h>

#include <chrono>
#include <functional>
#include <memory>

namespace genv::event {

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

/// Runs a function at a time of the wall clock, also if the clock is set meanwhile.
class WallTimer {
  public:
    /// The loop must outlive this object. Throws std::system_error.
    WallTimer(sd_event* loop, std::function<void()> function);
    WallTimer(const WallTimer&) = delete;
    WallTimer& operator=(const WallTimer&) = delete;

    /// Replaces the time of an earlier call.
    void set(std::chrono::microseconds sinceEpoch);
    void stop();

  private:
    static int run(sd_event_source* source, std::uint64_t when, void* timer);

    std::function<void()> function_;
    EventSource source_;
};

/// Runs a function once in a turn of the loop, after everything that has arrived was handled,
/// however often it is asked for.
class Deferred {
  public:
    /// The loop must outlive this object. Throws std::system_error.
    Deferred(sd_event* loop, std::function<void()> function);
    Deferred(const Deferred&) = delete;
    Deferred& operator=(const Deferred&) = delete;

    void schedule();

  private:
    static int run(sd_event_source* source, void* deferred);

    std::function<void()> function_;
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

/// Runs a function for a C handler, which no exception may leave. Prints what it throws.
void guarded(const std::function<void()>& function) noexcept;

} // namespace genv::event
