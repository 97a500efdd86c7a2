// SPDX-License-Identifier: LGPL-2.1-or-later
// Waits for a descriptor until a deadline that interruptions and early wake-ups do not extend.
#pragma once

#include <chrono>

namespace genv::service {

/// Returns whether the descriptor becomes readable or reaches its end before the deadline. A
/// deadline in the past means to check without waiting. Throws std::system_error.
bool becomesReadable(int fd, std::chrono::steady_clock::time_point deadline);

} // namespace genv::service
