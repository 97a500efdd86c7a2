// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/idleness.hpp"

#include <set>

namespace genv::core {

void Idleness::observed(const Ledger& ledger, const Observation& observation) {
    std::set<DeviceUuid> working;
    for (const DeviceSample& device : observation.devices) {
        if (device.reading.utilizationPercent.value_or(1) > 0)
            working.insert(device.facts.uuid);
    }
    std::set<Key> used;
    const EnvironmentLookup lookup = lookupIn(ledger);
    for (const ComputeProcess& process : observation.processes) {
        const Environment* environment = environmentOf(lookup, process);
        for (const ComputeUse& use : process.uses) {
            if (environment != nullptr && working.contains(use.device))
                used.emplace(environment->id, use.device);
        }
    }
    std::map<Key, BootTime> next;
    for (const auto& [sequence, environment] : ledger.environments()) {
        for (const Attachment& attachment : environment.attachments) {
            const Key key{environment.id, attachment.device.uuid};
            const auto known = lastUsed_.find(key);
            const bool inUse = known == lastUsed_.end() || used.contains(key);
            next.emplace(key, inUse ? observation.started : known->second);
        }
    }
    lastUsed_ = std::move(next);
}

std::chrono::milliseconds Idleness::of(const EnvironmentId& environment, const DeviceUuid& device,
                                       BootTime now) const {
    const auto known = lastUsed_.find({environment, device});
    if (known == lastUsed_.end() || now < known->second)
        return std::chrono::milliseconds{0};
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - known->second);
}

} // namespace genv::core
