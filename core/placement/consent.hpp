// SPDX-License-Identifier: LGPL-2.1-or-later
// Consent: whose devices a request may over-subscribe. Devices of one's own need nobody's consent.
// Other devices need the consent of each of their holders, or an administrator's approval.
#pragma once

#include "core/model/device_table.hpp"

#include <optional>
#include <vector>

namespace genv::core {

/// The environment for which devices are requested.
struct Requester {
    // Not explicit: most requests are those of an existing environment.
    Requester(const EnvironmentRecord* existing)
        : environment(existing),
          owner(existing == nullptr ? std::nullopt : std::optional(existing->uid)) {}
    /// Creates the requester of an environment that does not exist yet.
    explicit Requester(Uid ownerOfNew) : owner(ownerOfNew) {}

    const EnvironmentRecord* environment = nullptr; ///< null for one that does not exist yet
    std::optional<Uid> owner;                       ///< unset: no device is the requester's own
    /// The request gets no device whose holders did not consent. Otherwise the placement names
    /// these holders, so that an administrator can be asked.
    bool needsConsent = false;
};

/// Returns whether a request by `actor` that waits needs consent. At the grant no administrator is
/// asked, so it does, unless root made it.
constexpr bool needsConsentToWait(Uid actor) {
    return actor != 0;
}

/// Returns the requester of a waiting request.
Requester requesterOf(const EnvironmentRecord& environment, const Wait& wait);

/// The users with whom over-subscription shares a device. Devices are taken in this order.
enum class SharedWith {
    Oneself,    ///< all holders belong to the requester's owner
    Consenting, ///< all other holders consent
    Others,     ///< some holder did not consent
};

/// Returns with whom a request by `owner` would share a device.
SharedWith sharedWith(const TableDevice& device, std::optional<Uid> owner);

/// Returns the environments of other users that hold a device and did not consent, oldest first.
std::vector<EnvironmentId> holdersWithoutConsent(const TableDevice& device,
                                                 std::optional<Uid> owner);

} // namespace genv::core
