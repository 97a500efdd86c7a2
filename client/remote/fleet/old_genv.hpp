// SPDX-License-Identifier: LGPL-2.1-or-later
// The old Python genv on a host, which is run there over SSH: its snapshot, and what it means when
// it cannot be run.
#pragma once

#include "client/remote/ssh/command.hpp"

#include <string>
#include <string_view>

namespace genv::remote {

/// What "genv usage snapshot" prints there: JSON text, which parseSnapshot() reads. Throws
/// HostFailure; Trouble::NoService where there is no such command.
std::string readOldSnapshot(const Host& host, const SshBounds& bounds);

/// Whether the old genv is there and answers. A host that does not tell counts as one without it.
bool hasOldGenv(const Host& host, const SshBounds& bounds);

/// Whether it is root who logs in there. To anybody else the old genv says of others' processes
/// that they are in no environment, since it cannot read where they are. Throws HostFailure.
bool isRootThere(const Host& host, const SshBounds& bounds);

/// What a far command of genv's means that ended with another status than 0.
HostFailure commandFailed(std::string_view command, const FarOutput& output);

} // namespace genv::remote
