// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread for operations that may block. It runs jobs in order and delivers results only through
// the loop, so that the threads share nothing but the queue.
#pragma once

#include "service/loop/glib_loop.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace genv::service {

class Worker {
  public:
    /// Delivers a result to the loop. This is GlibLoop::post(), except in tests.
    using Post = std::function<void(std::function<void()>)>;

    /// `name` is the thread's name, at most 15 bytes.
    Worker(const std::string& name, Post post);
    /// Drops the jobs that have not started and waits for the running one. Later results are
    /// dropped.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Runs `work` on the thread, and then `done` with its result on the loop, where `done` is also
    /// destroyed. `work` must not access or hold objects of the loop, and must not throw.
    template <typename Result>
    void run(std::function<Result()> work, std::function<void(Result)> done) {
        // `done` holds objects of the loop. The thread therefore moves it on and keeps no copy that
        // it would have to destroy.
        auto holder = std::make_shared<std::function<void(Result)>>(std::move(done));
        submit([this, work = std::move(work), holder = std::move(holder), alive = alive_] {
            auto result = std::make_shared<Result>(work());
            post_([result, answer = std::move(*holder), alive] {
                if (*alive)
                    answer(std::move(*result));
            });
        });
    }

  private:
    void submit(std::function<void()> job);
    void loop();

    Post post_;
    std::shared_ptr<bool> alive_; ///< read and written on the loop's thread only
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace genv::service
