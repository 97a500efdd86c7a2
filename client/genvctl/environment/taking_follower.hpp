// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows the environments that are parked for a request: how long that still takes, and whether it
// failed.
#pragma once

#include "client/genvctl/environment/turn.hpp"
#include "genv/loans.hpp"

#include <chrono>
#include <optional>

namespace genv::ctl {

class TakingFollower {
  public:
    using Clock = std::chrono::steady_clock;

    /// Returns the line about the request's taking; once after it failed, the line that says so;
    /// otherwise nothing.
    std::optional<TurnLine> follow(const WaitingRequest& request, Clock::time_point now);

  private:
    std::optional<Taking> last_;
    Clock::time_point began_; ///< when it was first seen
};

} // namespace genv::ctl
