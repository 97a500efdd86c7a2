// SPDX-License-Identifier: LGPL-2.1-or-later
// The wall clock of genv-jobs. People name begin times by it.
#pragma once

#include "core/base/time.hpp"

#include <chrono>

namespace genv::jobs {

inline core::WallTime wallClock() {
    return std::chrono::time_point_cast<core::WallTime::duration>(std::chrono::system_clock::now());
}

} // namespace genv::jobs
