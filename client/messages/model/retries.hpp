// SPDX-License-Identifier: LGPL-2.1-or-later
// When a message is sent again that could not be sent: five times within an hour.
#pragma once

#include "core/base/time.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace genv::messages {

inline constexpr std::array<std::chrono::minutes, 5> retryDelays{
    std::chrono::minutes(1), std::chrono::minutes(3), std::chrono::minutes(8),
    std::chrono::minutes(16), std::chrono::minutes(32)};

/// Returns the time of the next attempt after `failures` failed ones, the last of them now. Returns
/// nothing if the message is to be dropped.
inline std::optional<core::WallTime> nextAttempt(std::size_t failures, core::WallTime now) {
    if (failures == 0 || failures > retryDelays.size())
        return std::nullopt;
    return now + retryDelays.at(failures - 1);
}

} // namespace genv::messages
