// SPDX-License-Identifier: LGPL-2.1-or-later
// Ensures that no other service still uses the state. Two services on the same state would each
// attach GPUs that the other has already attached.
#pragma once

#include "core/ports/log.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>

namespace genv::service {

/// Waits until nobody owns the service's name. The bus may not have noticed yet that a previous
/// service has ended. Call this before touching the state and before the loop runs. Throws
/// std::runtime_error if the name still has an owner after `timeout`.
void awaitFormerService(sdbus::IConnection& connection, core::Log& log,
                        std::chrono::milliseconds timeout);

} // namespace genv::service
