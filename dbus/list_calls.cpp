// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/list_calls.hpp"

#include "core/caps.hpp"
#include "core/error.hpp"

namespace genv::dbus {

std::shared_ptr<void> ListCalls::enter(core::Uid uid) {
    std::size_t& count = counts_[uid];
    if (uid != 0 && count >= core::caps::listCallsPerUser)
        core::fail(core::ErrorCode::LimitsExceeded,
                   "{} of your calls wait for the GPUs, processes or history already", count);
    ++count;
    return {this, [this, uid](void*) {
                if (--counts_[uid] == 0)
                    counts_.erase(uid);
            }};
}

} // namespace genv::dbus
