// SPDX-License-Identifier: LGPL-2.1-or-later
// How long one thing took, again and again.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace genv::bench {

using Clock = std::chrono::steady_clock;

class Series {
  public:
    void add(std::chrono::nanoseconds time) { times_.push_back(time); }
    /// How long its part of the measurement took, in which several may have run side by side.
    void addElapsed(std::chrono::nanoseconds time) { elapsed_ += time; }
    [[nodiscard]] std::size_t count() const { return times_.size(); }
    /// In microseconds.
    [[nodiscard]] double percentile(double part) const;
    [[nodiscard]] double median() const { return percentile(0.5); }
    [[nodiscard]] double most() const { return percentile(1); }
    [[nodiscard]] double perSecond() const;

  private:
    std::vector<std::chrono::nanoseconds> times_;
    std::chrono::nanoseconds elapsed_{0};
};

} // namespace genv::bench
