// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that reply with data from a sample of the GPUs.
#pragma once

#include "core/base/error.hpp"
#include "dbus/calls/bus_context.hpp"

#include <memory>
#include <string>
#include <utility>

namespace genv::dbus {

/// Calls `use` with a recent observation, and with the call's slot among the caller's list calls,
/// which is held as long as somebody keeps it. If the driver does not answer, the call is refused.
/// Throws core::Error(LimitsExceeded).
template <typename... Values, typename Use>
void withObservationAndPlace(core::Observer& observer, const Calls& calls,
                             const Reply<Values...>& reply, Use use) {
    observer.observe(
        core::freshSample,
        reply.later([place = calls.listCalls.enter(reply.caller().uid), use = std::move(use)](
                        const std::shared_ptr<const core::Observation>& observation,
                        const std::string& failure) {
            if (!observation)
                core::fail(core::ErrorCode::Timeout, "the GPU driver does not answer: {}", failure);
            use(*observation, place);
        }));
}

/// The same for a call that replies immediately after that.
template <typename... Values, typename Use>
void withObservation(core::Observer& observer, const Calls& calls, const Reply<Values...>& reply,
                     Use use) {
    withObservationAndPlace(
        observer, calls, reply,
        [use = std::move(use)](const core::Observation& observation,
                               const std::shared_ptr<void>& /*place*/) { use(observation); });
}

} // namespace genv::dbus
