// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread that is told to stop by a descriptor. A call to a service that hangs cannot be
// interrupted, so whoever ends the program asks whether the thread has ended before it joins it.
#pragma once

#include "client/descriptor.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <thread>

namespace genv::top {

class Background {
  public:
    /// Runs `work(stop)`, which returns soon after `stop` has become readable, unless it is in a
    /// call. Throws std::system_error.
    explicit Background(std::function<void(int stop)> work);
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    /// Stops it and waits for its end.
    ~Background();

    void stop();
    /// Whether it has ended, or does within this time.
    [[nodiscard]] bool endsWithin(std::chrono::milliseconds time) const;

  private:
    client::Descriptor stop_;
    std::promise<void> ended_;
    std::future<void> end_;
    std::thread thread_;
};

} // namespace genv::top
