// SPDX-License-Identifier: LGPL-2.1-or-later
// Caches the service's report about the environment for one second. Each query uses its own
// connection: a connection cannot stay open in a program that may fork, or close descriptors that
// it does not know.
//
// A program is never blocked for long. The service has 3 seconds to answer. After a failed query,
// the next one starts only after a pause of twenty times its duration. In a child that was forked
// during a query of another thread, no query is made any more, because that thread held locks.
#pragma once

#include "shims/program_view.hpp"

#include <memory>

namespace genv::shims {

/// Call this once, before the functions below.
void prepareToAsk();

/// Returns the environment's devices without their processes. Returns null if the service does not
/// report them, in which case the program sees the whole machine.
std::shared_ptr<const View> currentDevices();

/// Returns the devices with their processes, for which the service may have to wait for the driver.
std::shared_ptr<const View> currentView();

} // namespace genv::shims
