// SPDX-License-Identifier: LGPL-2.1-or-later
// Ends the ssh of a host that takes too long, whatever its thread waits for meanwhile: one thread
// looks at the clock for all hosts.
#pragma once

#include "client/remote/ssh/ssh.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace genv::monitor {

class Deadlines {
  public:
    using Clock = std::chrono::steady_clock;

    Deadlines();
    Deadlines(const Deadlines&) = delete;
    Deadlines& operator=(const Deadlines&) = delete;
    /// Every Bound is gone before.
    ~Deadlines();

    /// As long as it lives, what runs under the cancellation is ended at that moment, or when
    /// everything is.
    class Bound {
      public:
        Bound(Deadlines& deadlines, remote::Cancellation& cancellation, Clock::time_point moment);
        Bound(const Bound&) = delete;
        Bound& operator=(const Bound&) = delete;
        ~Bound();

      private:
        friend class Deadlines;
        Deadlines& deadlines_;
        remote::Cancellation& cancellation_;
        Clock::time_point moment_;
    };

    /// Ends all that is bound, and from now on each as soon as it is; also what has no Bound now
    /// but gets one.
    void endAll();

  private:
    void watch();

    std::mutex mutex_; ///< guards what follows
    std::condition_variable changed_;
    std::set<Bound*> bounds_;
    bool isOver_ = false; ///< everything is to end
    bool isStopped_ = false;
    std::thread thread_; ///< last: it uses the rest
};

} // namespace genv::monitor
