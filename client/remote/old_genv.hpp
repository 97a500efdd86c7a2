// SPDX-License-Identifier: LGPL-2.1-or-later
// Machines that run the old Python genv: it has no service, so what is to be known of one is what
// its command prints.
#pragma once

#include "client/remote/session.hpp"

#include <chrono>
#include <string>

namespace genv::remote {

/// Of these bounds, which began at this moment, what is left for one more ssh to the same host.
/// Throws HostFailure(Trouble::TimedOut) where nothing is.
SshBounds remaining(const SshBounds& bounds, std::chrono::steady_clock::time_point began);

/// What "genv usage snapshot" prints on a host, as it came. `service` is why the service there
/// could not be asked. Throws HostFailure: that one where the genv there needs the service itself,
/// and Trouble::NoService where there is no genv at all.
std::string readOldSnapshot(const Host& host, const SshBounds& bounds, const HostFailure& service);

} // namespace genv::remote
