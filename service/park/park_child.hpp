// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads libcuda in a child that has the user and the group of the target and no other right, so a
// hostile target can hang, crash or fool only a process of its own user. The kernel ends the child
// at its deadline, whatever it does. This process has one thread, and reads from the child only a
// few numbers, which it checks.
#pragma once

#include "service/park/park_protocol.hpp"
#include "service/park/park_target.hpp"

#include <chrono>

namespace genv::service {

/// Makes a call for a process. Returns at the deadline, although the call may then go on in the
/// target.
core::ParkingReply callInChild(const ParkCallRequest& request, const ParkTarget& target,
                               const ParkOwner& owner, std::chrono::milliseconds deadline);

/// Loads the library and looks for its functions.
core::ParkingCapability capabilityInChild(std::chrono::milliseconds deadline);

} // namespace genv::service
