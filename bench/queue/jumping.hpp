// SPDX-License-Identifier: LGPL-2.1-or-later
// A clock that jumps from event to event, and the scheduler of these events.
#pragma once

#include "core/ports/clock.hpp"
#include "core/ports/scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace genv::bench {

class JumpingClock : public core::Clock {
  public:
    [[nodiscard]] core::WallTime wallNow() const override {
        return core::WallTime{now_.time_since_epoch()};
    }
    [[nodiscard]] core::BootTime bootNow() const override { return now_; }
    void jump(core::BootTime to) { now_ = std::max(now_, to); }

  private:
    core::BootTime now_{std::chrono::seconds{1}};
};

/// Runs timers in the order of their times.
class JumpingScheduler : public core::Scheduler {
  public:
    explicit JumpingScheduler(JumpingClock& clock) : clock_(clock) {}

    void soon(std::function<void()> function) override { soon_.push_back(std::move(function)); }
    std::unique_ptr<core::Scheduled> after(std::chrono::milliseconds delay,
                                           std::function<void()> function) override {
        const Key key{clock_.bootNow() + delay, ++last_};
        timers_->emplace(key, std::move(function));
        return std::make_unique<Timer>(timers_, key);
    }
    /// Runs everything that is due until `until`.
    void run(core::BootTime until) {
        turn();
        while (!timers_->empty() && timers_->begin()->first.first <= until) {
            auto due = timers_->extract(timers_->begin());
            clock_.jump(due.key().first);
            due.mapped()();
            turn();
        }
        clock_.jump(until);
    }

  private:
    using Key = std::pair<core::BootTime, std::uint64_t>;
    using Timers = std::map<Key, std::function<void()>>;

    struct Timer : core::Scheduled {
        Timer(std::shared_ptr<Timers> all, Key own) : timers(std::move(all)), key(own) {}
        Timer(const Timer&) = delete;
        Timer& operator=(const Timer&) = delete;
        ~Timer() override { timers->erase(key); }
        std::shared_ptr<Timers> timers;
        Key key;
    };

    void turn() {
        while (!soon_.empty()) {
            const auto function = std::move(soon_.front());
            soon_.pop_front();
            function();
        }
    }

    JumpingClock& clock_;
    std::deque<std::function<void()>> soon_;
    std::shared_ptr<Timers> timers_ = std::make_shared<Timers>();
    std::uint64_t last_ = 0;
};

} // namespace genv::bench
