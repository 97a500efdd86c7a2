// SPDX-License-Identifier: LGPL-2.1-or-later
// What the service says of the environment, kept for a second. Each question has a connection of
// its own: none stays open in a program that may fork, or close descriptors that it does not know.
//
// A program is never held up for long: the service has 3 seconds for an answer; after one that did
// not come it is asked again when twenty times as long has passed. In a child that was forked while
// another thread was asking nothing is asked any more, since that thread held locks.
#pragma once

#include "shims/view.hpp"

#include <memory>

namespace genv::shims {

/// Once, before the functions below.
void prepareToAsk();

/// The environment's devices without their processes; null where the service does not say, and the
/// program is to see the machine.
std::shared_ptr<const View> currentDevices();

/// The same with their processes, for which the service may have to wait for the driver.
std::shared_ptr<const View> currentView();

} // namespace genv::shims
