// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench/bus/series.hpp"

#include <algorithm>
#include <stdexcept>

namespace genv::bench {

double Series::percentile(double part) const {
    if (times_.empty())
        throw std::logic_error("nothing was measured");
    std::vector<std::chrono::nanoseconds> times = times_;
    const auto place = static_cast<std::ptrdiff_t>(part * static_cast<double>(times.size() - 1));
    const auto found = times.begin() + place;
    std::nth_element(times.begin(), found, times.end());
    return std::chrono::duration<double, std::micro>(*found).count();
}

double Series::perSecond() const {
    return static_cast<double>(times_.size()) / std::chrono::duration<double>(elapsed_).count();
}

} // namespace genv::bench
