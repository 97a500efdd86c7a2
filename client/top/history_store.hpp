// SPDX-License-Identifier: LGPL-2.1-or-later
// The utilization of each GPU over the last ten minutes: the service's samples, and those taken
// since.
#pragma once

#include "client/top/frame.hpp"

#include <cstdint>
#include <map>

namespace genv::top {

class HistoryStore {
  public:
    void add(std::uint32_t gpu, Time when, std::uint32_t percent);
    /// Returns the history that ends at this moment.
    [[nodiscard]] History of(std::uint32_t gpu, Time now) const;

  private:
    /// The samples of ten seconds.
    struct Step {
        std::int64_t number = -1; ///< of ten seconds since the epoch
        std::uint32_t sum = 0;
        std::uint32_t count = 0;
        std::optional<Time> last;
    };
    std::map<std::uint32_t, std::array<Step, historySteps>> steps_;
};

} // namespace genv::top
