// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement/consent.hpp"

#include <algorithm>

namespace genv::core {

Requester requesterOf(const EnvironmentRecord& environment, const Wait& wait) {
    Requester requester(&environment);
    requester.needsConsent = needsConsentToWait(wait.actor.uid);
    return requester;
}

SharedWith sharedWith(const TableDevice& device, std::optional<Uid> owner) {
    SharedWith result = SharedWith::Oneself;
    for (const Holder& holder : device.holders) {
        if (holder.owner != owner)
            result =
                std::max(result, holder.consents ? SharedWith::Consenting : SharedWith::Others);
    }
    return result;
}

std::vector<EnvironmentId> holdersWithoutConsent(const TableDevice& device,
                                                 std::optional<Uid> owner) {
    std::vector<EnvironmentId> without;
    for (const Holder& holder : device.holders) {
        if (holder.owner != owner && !holder.consents)
            without.push_back(holder.environment);
    }
    return without;
}

} // namespace genv::core
