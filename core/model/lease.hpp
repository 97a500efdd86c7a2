// SPDX-License-Identifier: LGPL-2.1-or-later
// A lease is a grant that ends by itself. It uses boot time, so that setting the clock does not
// move its end.
#pragma once

#include "core/base/time.hpp"

namespace genv::core {

/// The start and the end of a grant.
struct Lease {
    BootTime granted;
    BootTime until;

    friend bool operator==(const Lease&, const Lease&) = default;
};

/// Returns the end of a lease on the wall clock as it is set now.
constexpr WallTime wallEnd(const Lease& lease, BootTime bootNow, WallTime wallNow) {
    return wallNow + (lease.until - bootNow);
}

} // namespace genv::core
