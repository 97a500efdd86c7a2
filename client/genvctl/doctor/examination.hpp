// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs all checks in parallel, each in its own process that is killed at a deadline. A file system,
// user database or service that hangs therefore delays no other check.
#pragma once

#include "client/genvctl/doctor/checks.hpp"

#include <chrono>
#include <vector>

namespace genv::ctl::doctor {

/// Longer than the timeout of calls on the bus, so that a check itself can report a missing reply.
inline constexpr std::chrono::milliseconds checkDeadline{5000};

/// Returns one finding for each check, in the same order. A check that ends without a finding
/// counts as a problem.
std::vector<DoctorFinding> examine(const std::vector<DoctorCheck>& checks,
                                   const SystemPlaces& places,
                                   std::chrono::milliseconds deadline = checkDeadline);

} // namespace genv::ctl::doctor
