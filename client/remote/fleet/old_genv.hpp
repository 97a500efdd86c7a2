// SPDX-License-Identifier: LGPL-2.1-or-later
// genv 1, written in Python, on a host. It is run over SSH: reads its snapshot, and evaluates a
// failure to run it.
#pragma once

#include "client/remote/ssh/remote_command.hpp"

#include <string>
#include <string_view>

namespace genv::remote {

/// Returns the output of "genv usage snapshot": JSON text for parseSnapshot(). Throws HostFailure,
/// with Trouble::NoService if there is no such command.
std::string readOldSnapshot(const Host& host, const SshBounds& bounds);

/// Whether genv 1 is installed and works. A host that does not answer counts as a host without it.
bool hasOldGenv(const Host& host, const SshBounds& bounds);

/// Whether the login on the host is root. For any other user, genv 1 reports the processes of
/// others as outside every environment, because it cannot read their environment. Throws
/// HostFailure.
bool isRootThere(const Host& host, const SshBounds& bounds);

/// Returns the failure for a remote command of genv that exited with a status other than 0.
HostFailure commandFailed(std::string_view command, const FarOutput& output);

} // namespace genv::remote
