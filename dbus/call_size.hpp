// SPDX-License-Identifier: LGPL-2.1-or-later
// How much a call carries, which is measured before anything is made of it.
#pragma once

#include <systemd/sd-bus.h>

#include <cstddef>

namespace genv::dbus {

struct CallSize {
    std::size_t values = 0;
    std::size_t bytes = 0;   ///< of path and arguments, about
    bool isTooLarge = false; ///< more than any method could want: core::caps says how much
};

/// Measures a call that nothing was read from, and leaves it so. Stops at what is too much, so that
/// measuring is cheap whatever is sent.
CallSize measure(sd_bus_message* call);

} // namespace genv::dbus
