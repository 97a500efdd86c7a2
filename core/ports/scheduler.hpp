// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the loop, as far as others need it: to do something later on its thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace genv::core {

/// A thing that is scheduled; destroying it cancels.
class Scheduled {
  public:
    Scheduled() = default;
    Scheduled(const Scheduled&) = delete;
    Scheduled& operator=(const Scheduled&) = delete;
    virtual ~Scheduled() = default;
};

/// Runs functions on the loop's thread. Called on that thread only.
class Scheduler {
  public:
    virtual ~Scheduler() = default;

    /// Runs a function in the next turn of the loop, before anything that waits on a descriptor.
    virtual void soon(std::function<void()> function) = 0;

    /// Runs a function once after a time, by the monotonic clock.
    [[nodiscard]] virtual std::unique_ptr<Scheduled> after(std::chrono::milliseconds delay,
                                                           std::function<void()> function) = 0;
};

} // namespace genv::core
