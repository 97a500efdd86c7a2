// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that are answered with what a sample of the GPUs shows.
#pragma once

#include "core/error.hpp"
#include "dbus/context.hpp"

#include <memory>
#include <string>
#include <utility>

namespace genv::dbus {

/// Goes on with an observation that is fresh, and with the place among the caller's list calls that
/// the call has for as long as somebody keeps it. A driver that does not answer is the call's
/// refusal. Throws core::Error(LimitsExceeded).
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

/// The same for a call that is answered at once then.
template <typename... Values, typename Use>
void withObservation(core::Observer& observer, const Calls& calls, const Reply<Values...>& reply,
                     Use use) {
    withObservationAndPlace(
        observer, calls, reply,
        [use = std::move(use)](const core::Observation& observation,
                               const std::shared_ptr<void>& /*place*/) { use(observation); });
}

} // namespace genv::dbus
