// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the part of the loop that runs functions later on its thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace genv::core {

/// A scheduled call; destroying it cancels the call.
class Scheduled {
  public:
    Scheduled() = default;
    Scheduled(const Scheduled&) = delete;
    Scheduled& operator=(const Scheduled&) = delete;
    virtual ~Scheduled() = default;
};

/// Runs functions on the loop's thread. Only that thread calls it.
class Scheduler {
  public:
    virtual ~Scheduler() = default;

    /// Runs a function in the next iteration of the loop, before it handles any descriptor.
    virtual void soon(std::function<void()> function) = 0;

    /// Runs a function once after a delay, on the monotonic clock.
    [[nodiscard]] virtual std::unique_ptr<Scheduled> after(std::chrono::milliseconds delay,
                                                           std::function<void()> function) = 0;
};

} // namespace genv::core
