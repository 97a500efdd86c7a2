// SPDX-License-Identifier: LGPL-2.1-or-later
// Connections to sockets of this machine, where nobody waits: one that nobody accepts fails.
#pragma once

#include "core/descriptor.hpp"

#include <filesystem>

namespace genv::service {

/// A stream to a socket, which neither reading nor writing blocks on. Throws std::system_error.
core::Descriptor connectToUnixSocket(const std::filesystem::path& socket);

} // namespace genv::service
