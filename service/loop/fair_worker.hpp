// SPDX-License-Identifier: LGPL-2.1-or-later
// A worker that many users share. One job runs at a time, and users are served in turn, so that a
// user with many jobs delays another user by at most one job.
#pragma once

#include "core/queue/turns.hpp"
#include "service/loop/worker.hpp"

#include <functional>
#include <string>
#include <utility>

namespace genv::service {

class FairWorker {
  public:
    FairWorker(const std::string& name, Worker::Post post) : worker_(name, std::move(post)) {}
    FairWorker(const FairWorker&) = delete;
    FairWorker& operator=(const FairWorker&) = delete;

    /// Runs a job for a user, as Worker::run() does. If the job is not `wanted` any more when it is
    /// to start, it is dropped and `done` is not called. Called on the loop's thread only.
    template <typename Result>
    void run(core::Uid asking, std::function<Result()> work, std::function<void(Result)> done,
             std::function<bool()> wanted = {}) {
        asked_.add(asking,
                   {std::move(wanted), [this, work = std::move(work), done = std::move(done)] {
                        worker_.run<Result>(work, [this, done](Result result) {
                            busy_ = false;
                            next();
                            done(std::move(result));
                        });
                    }});
        next();
    }

  private:
    struct Job {
        std::function<bool()> wanted;
        std::function<void()> start;
    };

    void next() {
        if (busy_)
            return;
        const auto isWanted = [](const Job& job) { return !job.wanted || job.wanted(); };
        if (const auto job = asked_.take(isWanted)) {
            busy_ = true;
            job->start();
        }
    }

    core::Turns<Job> asked_;
    bool busy_ = false;
    Worker worker_; // last: it uses the other members until it is destroyed
};

} // namespace genv::service
