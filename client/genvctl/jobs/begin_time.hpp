// SPDX-License-Identifier: LGPL-2.1-or-later
// The value of --begin: when a job may start.
#pragma once

#include "core/base/time.hpp"

#include <string>

namespace genv::ctl {

/// Parses a time from now on: 2h or +2h; 22:00, today or else tomorrow; "tomorrow 8:00"; and the
/// other forms of core::parseMoment(). Hours may have one digit. Throws Failure(Usage), also for a
/// time in the past, which is more likely a slip than a wish to start at once.
core::WallTime parseBegin(const std::string& text, core::WallTime now);

} // namespace genv::ctl
