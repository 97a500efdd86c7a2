// SPDX-License-Identifier: LGPL-2.1-or-later
// Connections to local sockets. Connecting does not wait: it fails if nothing accepts the
// connection.
#pragma once

#include "core/base/descriptor.hpp"

#include <filesystem>

namespace genv::service {

/// Returns a non-blocking stream to a socket. Throws std::system_error.
core::Descriptor connectToUnixSocket(const std::filesystem::path& socket);

} // namespace genv::service
