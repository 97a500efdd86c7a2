// SPDX-License-Identifier: LGPL-2.1-or-later
// Ends the ssh of a host that takes too long, independent of the thread that waits for it. A single
// thread watches the deadlines of all hosts.
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
    /// All Bound objects must be destroyed before.
    ~Deadlines();

    /// During its lifetime, the processes under the cancellation are ended at the deadline, or by
    /// endAll().
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

    /// Ends the processes of every Bound, and from now on also those of each new Bound.
    void endAll();

  private:
    void watch();

    std::mutex mutex_; ///< guards the members below
    std::condition_variable changed_;
    std::set<Bound*> bounds_;
    bool isOver_ = false; ///< whether endAll() was called
    bool isStopped_ = false;
    std::thread thread_; ///< declared last, because it uses the other members
};

} // namespace genv::monitor
