// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement/open_plans.hpp"

namespace genv::core {

std::shared_ptr<void> OpenPlans::add(const Plan& plan) {
    const auto* placement = std::get_if<Placement>(&plan);
    if (placement == nullptr)
        return nullptr; // the devices are not known yet
    const auto open = plans_->insert(plans_->end(), *placement);
    return {&*open, [plans = plans_, open](void*) { plans->erase(open); }};
}

Reservations OpenPlans::with(Reservations reservations) const {
    // No lease ends early enough to pass this keeper.
    const Keeper nobody{0, BootTime::min()};
    for (const Placement& open : *plans_) {
        for (const Placement::Device& device : open.attach) {
            if (!device.overSubscribed)
                reservations.add(device.facts.uuid, open.share, nobody);
        }
    }
    return reservations;
}

} // namespace genv::core
