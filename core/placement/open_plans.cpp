// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement/open_plans.hpp"

namespace genv::core {

std::shared_ptr<void> OpenPlans::add(const Plan& plan) {
    std::erase_if(plans_, [](const auto& open) { return open.expired(); });
    const auto* placement = std::get_if<Placement>(&plan);
    if (placement == nullptr)
        return nullptr; // the devices are not known yet
    auto open = std::make_shared<Placement>(*placement);
    plans_.push_back(open);
    return open;
}

Reservations OpenPlans::with(Reservations reservations) const {
    // No lease ends early enough to pass this keeper.
    const Keeper nobody{0, BootTime::min()};
    for (const auto& weak : plans_) {
        const auto open = weak.lock();
        if (!open)
            continue;
        for (const Placement::Device& device : open->attach) {
            if (!device.overSubscribed)
                reservations.add(device.facts.uuid, open->share, nobody);
        }
    }
    return reservations;
}

} // namespace genv::core
