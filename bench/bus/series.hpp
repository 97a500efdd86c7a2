// SPDX-License-Identifier: LGPL-2.1-or-later
// The times of one repeated operation.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace genv::bench {

using Clock = std::chrono::steady_clock;

class Series {
  public:
    void add(std::chrono::nanoseconds time) { times_.push_back(time); }
    /// Adds the elapsed time of a part of the measurement, in which several operations may have run
    /// concurrently.
    void addElapsed(std::chrono::nanoseconds time) { elapsed_ += time; }
    [[nodiscard]] std::size_t count() const { return times_.size(); }
    /// Returns a percentile in microseconds.
    [[nodiscard]] double percentile(double part) const;
    [[nodiscard]] double median() const { return percentile(0.5); }
    [[nodiscard]] double max() const { return percentile(1); }
    [[nodiscard]] double perSecond() const;

  private:
    std::vector<std::chrono::nanoseconds> times_;
    std::chrono::nanoseconds elapsed_{0};
};

} // namespace genv::bench
