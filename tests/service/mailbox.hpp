// SPDX-License-Identifier: LGPL-2.1-or-later
// The loop's end of the worker protocol, without a loop.
#pragma once

#include "service/loop/worker.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>

namespace genv::tests {

/// The loop's end of the worker protocol: a queue that the test empties on its own thread.
class Mailbox {
  public:
    service::Worker::Post post() {
        return [this](std::function<void()> message) {
            const std::lock_guard lock(mutex_);
            messages_.push_back(std::move(message));
            arrived_.notify_one();
        };
    }
    /// Waits for one message and runs it here.
    void take() {
        std::function<void()> message;
        {
            std::unique_lock lock(mutex_);
            if (!arrived_.wait_for(lock, std::chrono::seconds{30},
                                   [this] { return !messages_.empty(); }))
                throw std::runtime_error("no message");
            message = std::move(messages_.front());
            messages_.pop_front();
        }
        message();
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<std::function<void()>> messages_;
};

} // namespace genv::tests
