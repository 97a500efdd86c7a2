// SPDX-License-Identifier: LGPL-2.1-or-later
// Waiting on a descriptor with a deadline that interruptions and early wake-ups do not move.
#pragma once

#include <chrono>

namespace genv::service {

/// Whether the descriptor can be read, or has ended, before the deadline; one in the past is a look
/// without waiting. Throws std::system_error.
bool becomesReadable(int fd, std::chrono::steady_clock::time_point deadline);

} // namespace genv::service
