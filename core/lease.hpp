// SPDX-License-Identifier: LGPL-2.1-or-later
// A lease: a grant that ends by itself. It runs in boot time, so that a clock that is set moves
// none.
#pragma once

#include "core/time.hpp"

namespace genv::core {

/// From when to when something is granted.
struct Lease {
    BootTime granted;
    BootTime until;

    friend bool operator==(const Lease&, const Lease&) = default;
};

/// When a lease ends by the wall clock as it is set now.
constexpr WallTime wallEnd(const Lease& lease, BootTime bootNow, WallTime wallNow) {
    return wallNow + (lease.until - bootNow);
}

} // namespace genv::core
