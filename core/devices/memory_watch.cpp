// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/devices/memory_watch.hpp"

#include "core/ledger/membership.hpp"

#include <utility>

namespace genv::core {

namespace {

using Uses = std::map<std::pair<const EnvironmentRecord*, DeviceUuid>, Bytes>;

// Returns the used memory of each share. Uses that the driver does not report are not included.
Uses usesOfShares(const LedgerView& ledger, const Observation& observation) {
    Uses uses;
    for (const auto& [sequence, environment] : ledger.environments()) {
        for (const DeviceAttachment& attachment : environment.attachments) {
            if (attachment.share)
                uses.emplace(std::pair(&environment, attachment.device.uuid), Bytes{0});
        }
    }
    if (uses.empty())
        return uses;
    const EnvironmentLookup lookup = lookupIn(ledger);
    for (const ObservedProcess& process : observation.processes) {
        const EnvironmentRecord* environment = environmentOf(lookup, process);
        for (; environment != nullptr; environment = ledger.parentOf(*environment)) {
            for (const ComputeUse& use : process.uses) {
                const auto found = uses.find({environment, use.device});
                if (found != uses.end())
                    found->second = found->second + use.usedMemory.value_or(Bytes{0});
            }
        }
    }
    return uses;
}

// Avoids overflow, whatever the driver reports.
bool isAtLeast(Bytes used, std::uint64_t percent, Bytes share) {
    return used.count >= share.count / 100 * percent + share.count % 100 * percent / 100;
}

} // namespace

void MemoryWatch::observed(const LedgerView& ledger, const Observation& observation) {
    std::map<std::uint64_t, Level> reported;
    for (const auto& [key, used] : usesOfShares(ledger, observation)) {
        const EnvironmentRecord& environment = *key.first;
        const DeviceAttachment& attachment = *environment.attachmentTo(key.second);
        const Bytes share = *attachment.share;
        const auto before = reported_.find(attachment.sequence);
        const bool isOver = used > share;
        const Level level = isOver ? Level::Over : Level::Nearly;
        const bool isNews = isAtLeast(used, nearlyUsedPercent, share) &&
                            (before == reported_.end() || before->second < level);
        if (isNews)
            reported.emplace(attachment.sequence, level);
        else if (before != reported_.end() && isAtLeast(used, freeAgainPercent, share))
            reported.insert(*before);
        if (isNews)
            events_.emit(
                MemoryFilling{environment.id, environment.uid, attachment.device, used, share});
    }
    reported_ = std::move(reported);
}

} // namespace genv::core
