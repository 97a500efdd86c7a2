// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread for what may block. It takes jobs in order and answers only with messages to the loop,
// so that nothing but the queue is ever shared.
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
    /// How an answer reaches the loop; GlibLoop::post() but in tests.
    using Post = std::function<void(std::function<void()>)>;

    /// `name` is the thread's, at most 15 bytes.
    Worker(const std::string& name, Post post);
    /// Drops the jobs that have not begun and waits for the one that has. Answers that come later
    /// are dropped.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Runs `work` on the thread, then `done` with its result on the loop, where it is destroyed
    /// too. `work` must not touch or hold what the loop owns, and must not throw.
    template <typename Result>
    void run(std::function<Result()> work, std::function<void(Result)> done) {
        // `done` holds what belongs to the loop, so the thread only passes it on and keeps no copy
        // to destroy.
        auto holder = std::make_shared<std::function<void(Result)>>(std::move(done));
        submit([this, work = std::move(work), holder = std::move(holder), alive = alive_] {
            auto result = std::make_shared<Result>(work());
            post_([result, tell = std::move(*holder), alive] {
                if (*alive)
                    tell(std::move(*result));
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
