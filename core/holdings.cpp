// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/holdings.hpp"

#include "core/ledger.hpp"

#include <algorithm>

namespace genv::core {

Bytes Holdings::totalMemory() const {
    Bytes total;
    for (const auto& [device, bytes] : memory)
        total = total + bytes;
    return total;
}

Bytes Holdings::maxMemoryPerDevice() const {
    Bytes max;
    for (const auto& [device, bytes] : memory)
        max = std::max(max, bytes);
    return max;
}

void Holdings::add(const DeviceFacts& device, std::optional<Bytes> share) {
    Bytes& held = memory[device.uuid];
    held = std::min(held + share.value_or(device.totalMemory), device.totalMemory);
}

Holdings holdingsOf(const Environment& environment) {
    Holdings holdings;
    holdings.environments = 1;
    for (const Attachment& attachment : environment.attachments)
        holdings.add(attachment);
    return holdings;
}

Holdings holdingsOf(const Ledger& ledger, Uid uid) {
    Holdings holdings;
    for (const EnvironmentId& id : ledger.environmentsOf(uid)) {
        const Environment& environment = ledger.get(id);
        if (environment.job || environment.parent)
            continue;
        if (environment.isCounted())
            ++holdings.environments;
        for (const Attachment& attachment : environment.attachments)
            holdings.add(attachment);
    }
    return holdings;
}

} // namespace genv::core
