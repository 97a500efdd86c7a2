// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/calls/call_places.hpp"

#include "core/base/error.hpp"

namespace genv::dbus {

std::shared_ptr<void> CallPlaces::enter(core::Uid uid) {
    std::size_t& count = (*counts_)[uid];
    if (uid != 0 && count >= cap_)
        core::fail(core::ErrorCode::LimitsExceeded,
                   "{} of your calls {} already; wait until one is answered", count, waits_);
    ++count;
    return {counts_.get(), [counts = counts_, uid](void*) {
                if (--counts->at(uid) == 0)
                    counts->erase(uid);
            }};
}

} // namespace genv::dbus
