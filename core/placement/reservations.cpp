// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/placement/reservations.hpp"

#include <algorithm>

namespace genv::core {

namespace {

bool passes(const Keeper& keeper, std::optional<BootTime> leaseEnd) {
    return leaseEnd && *leaseEnd <= keeper.start;
}

} // namespace

void Reservations::add(const DeviceUuid& device, std::optional<Bytes> share, const Keeper& keeper) {
    reserved_[device].push_back({share, keeper});
}

bool Reservations::contains(const DeviceUuid& device, std::optional<BootTime> leaseEnd) const {
    const auto found = reserved_.find(device);
    return found != reserved_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const Reserved& reserved) {
               return !passes(reserved.keeper, leaseEnd);
           });
}

bool Reservations::leave(const TableDevice& device, std::optional<Bytes> share,
                         std::optional<BootTime> leaseEnd) const {
    if (!device.isAvailable(share))
        return false;
    const auto found = reserved_.find(device.facts.uuid);
    if (found == reserved_.end())
        return true;
    Bytes kept;
    for (const Reserved& reserved : found->second) {
        if (passes(reserved.keeper, leaseEnd))
            continue;
        if (!share || !reserved.share)
            return false;
        kept = kept + *reserved.share;
    }
    return !share || device.availableMemory() >= kept + *share;
}

std::vector<std::uint64_t> Reservations::passed(const TableDevice& device,
                                                std::optional<Bytes> share,
                                                std::optional<BootTime> leaseEnd) const {
    std::vector<std::uint64_t> tickets;
    const auto found = reserved_.find(device.facts.uuid);
    if (found == reserved_.end() || leave(device, share, std::nullopt))
        return tickets;
    for (const Reserved& reserved : found->second) {
        if (passes(reserved.keeper, leaseEnd))
            tickets.push_back(reserved.keeper.ticket);
    }
    return tickets;
}

std::vector<Keeper> Reservations::keepersOf(const DeviceUuid& device) const {
    std::vector<Keeper> keepers;
    if (const auto found = reserved_.find(device); found != reserved_.end()) {
        for (const Reserved& reserved : found->second)
            keepers.push_back(reserved.keeper);
    }
    return keepers;
}

} // namespace genv::core
