// SPDX-License-Identifier: LGPL-2.1-or-later
// What a program does while a call of its waits its turn.
#pragma once

#include <functional>

namespace genv {

/// How a waiting call is watched and given up.
struct Waiting {
    /// The call gives up and leaves the queue as soon as this is readable, such as a signalfd; -1:
    /// it waits to the end.
    int stopDescriptor = -1;
    /// Called when the call does not return at once, and again whenever the queue, an attachment or
    /// a lock has changed. It may make calls of the same client.
    std::function<void()> changed;
};

} // namespace genv
