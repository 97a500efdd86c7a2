// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs checks, all at once, each in a process of its own that ends at a deadline: a file system, a
// user database or a service that hangs holds up no other check.
#pragma once

#include "client/genvctl/doctor/checks.hpp"

#include <chrono>
#include <vector>

namespace genv::ctl::doctor {

/// Beyond the deadline of a call on the bus, so that a check can say itself who did not answer.
inline constexpr std::chrono::milliseconds checkDeadline{5000};

/// A finding for each check, in the same order. A check that ends without one is a problem.
std::vector<Finding> examine(const std::vector<Check>& checks, const Places& places,
                             std::chrono::milliseconds deadline = checkDeadline);

} // namespace genv::ctl::doctor
