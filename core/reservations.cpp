// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/reservations.hpp"

namespace genv::core {

void Reservations::add(const DeviceUuid& device, std::optional<Bytes> share) {
    Reserved& reserved = reserved_[device];
    if (share)
        reserved.memory = reserved.memory + *share;
    else
        reserved.whole = true;
}

bool Reservations::leave(const Device& device, std::optional<Bytes> share) const {
    if (!device.isAvailable(share))
        return false;
    const auto found = reserved_.find(device.facts.uuid);
    if (found == reserved_.end())
        return true;
    return share && !found->second.whole &&
           device.availableMemory() >= found->second.memory + *share;
}

} // namespace genv::core
