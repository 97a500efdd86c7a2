// SPDX-License-Identifier: LGPL-2.1-or-later
// Two services on one state would be worse than none: each would give what the other has given.
#pragma once

#include "core/ports/log.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>

namespace genv::service {

/// To be called before the state is touched, and before the loop runs. Returns once nobody owns the
/// service's name: the bus may yet have to learn that a former service has ended. Throws
/// std::runtime_error where somebody owns it for longer than that.
void awaitFormerService(sdbus::IConnection& connection, core::Log& log,
                        std::chrono::milliseconds patience);

} // namespace genv::service
