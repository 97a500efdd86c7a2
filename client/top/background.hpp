// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread that stops when a descriptor is readable. A call to a hanging service cannot be
// interrupted, so the program checks whether the thread has ended before it joins it.
#pragma once

#include "client/descriptor_functions.hpp"

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
    /// Stops the thread and waits for its end.
    ~Background();

    void stop();
    /// Returns whether the thread ends within this time.
    [[nodiscard]] bool endsWithin(std::chrono::milliseconds time) const;

  private:
    client::Descriptor stop_;
    std::promise<void> ended_;
    std::future<void> end_;
    std::thread thread_;
};

} // namespace genv::top
