// SPDX-License-Identifier: LGPL-2.1-or-later
// Claiming devices: work out which, ask whether the caller may have them, and give exactly those.
// When the devices changed hands while polkit was thinking, the new outcome is asked about anew;
// when a person was asked for a password, the call is refused instead, since they agreed to
// something else.
#pragma once

#include "dbus/context.hpp"

#include <functional>
#include <optional>

namespace genv::dbus {

/// What differs between Activate and Attach. Every function looks its environment up anew and may
/// throw core::Error.
struct Claim {
    std::function<std::optional<core::Placement>()> plan; ///< nothing when no devices are wanted
    std::function<policy::Target(const std::optional<core::Placement>&)> target;
    std::function<bool(const core::Placement&)> stillHolds;
    std::function<void(const std::optional<core::Placement>&)> apply;
};

/// How often a claim is asked about anew before it is refused.
inline constexpr int mostClaimAttempts = 8;

template <typename... Values>
void carryOut(const Context& context, const Reply<Values...>& reply, const Claim& claim,
              int attempts = mostClaimAttempts) {
    const std::optional<core::Placement> placement = claim.plan();
    context.gate.pass(
        reply, claim.target(placement), [&context, reply, claim, placement, attempts] {
            if (!placement || claim.stillHolds(*placement)) {
                claim.apply(placement);
                return;
            }
            claim.plan(); // says what is in the way, when something is
            if (reply.caller().interactive || attempts <= 1)
                core::fail(core::ErrorCode::DeviceUnavailable,
                           "the devices changed hands while authorisation was given; try again");
            carryOut(context, reply, claim, attempts - 1);
        });
}

} // namespace genv::dbus
