// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/remote/fleet/gathering.hpp"

#include <algorithm>
#include <deque>
#include <thread>

namespace genv::remote {

namespace {

/// The state shared by the workers and the waiting thread.
class Work {
  public:
    explicit Work(std::size_t count) : count_(count) {}

    /// Returns the next host to process, or nothing if there is none left.
    std::optional<std::size_t> take() {
        const std::lock_guard lock(mutex_);
        if (next_ == count_ || cancellation.isCancelled())
            return std::nullopt;
        ++running_;
        return next_++;
    }

    void finish(std::size_t index) {
        const std::lock_guard lock(mutex_);
        --running_;
        finished_.push_back(index);
        changed_.notify_one();
    }

    /// Waits for a host that is finished. Returns nothing if no host is left.
    std::optional<std::size_t> await() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] {
            return !finished_.empty() ||
                   (running_ == 0 && (next_ == count_ || cancellation.isCancelled()));
        });
        if (finished_.empty())
            return std::nullopt;
        const std::size_t index = finished_.front();
        finished_.pop_front();
        return index;
    }

    Cancellation cancellation;

  private:
    const std::size_t count_;
    std::mutex mutex_; ///< guards the members below
    std::condition_variable changed_;
    std::size_t next_ = 0;
    std::size_t running_ = 0;
    std::deque<std::size_t> finished_;
};

} // namespace

void forEachHost(std::size_t count, std::chrono::milliseconds deadline,
                 const std::function<void(std::size_t, const SshBounds&)>& work,
                 const std::function<bool(std::size_t)>& done) {
    Work shared(count);
    const auto run = [&] {
        while (const auto index = shared.take()) {
            work(*index, SshBounds{deadline, &shared.cancellation});
            shared.finish(*index);
        }
    };
    std::vector<std::jthread> workers;
    const std::size_t number = std::min(count, maxConcurrentHosts);
    for (std::size_t worker = 0; worker < number; ++worker)
        workers.emplace_back(run);
    try {
        while (const auto index = shared.await()) {
            if (!done(*index))
                shared.cancellation.cancel();
        }
    } catch (...) {
        shared.cancellation.cancel(); // so that joining the workers does not take long
        throw;
    }
}

} // namespace genv::remote
