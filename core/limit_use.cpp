// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/limit_use.hpp"

#include "core/holdings.hpp"
#include "core/membership.hpp"

#include <algorithm>
#include <chrono>

namespace genv::core {

namespace {

std::uint64_t wholeSeconds(std::chrono::microseconds time) {
    const auto count = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
}

std::optional<std::uint64_t> wholeSeconds(std::optional<std::chrono::milliseconds> time) {
    return time ? std::optional(wholeSeconds(std::chrono::microseconds(*time))) : std::nullopt;
}

std::optional<std::uint64_t> bytes(std::optional<Bytes> amount) {
    return amount ? std::optional(amount->count) : std::nullopt;
}

// The processes that the rules count as a user's: those in their environments, and their own in
// none.
std::uint64_t computeProcesses(const Ledger& ledger, Uid user, const Observation* last) {
    if (last == nullptr)
        return 0;
    const EnvironmentLookup lookup = lookupIn(ledger);
    return static_cast<std::uint64_t>(std::count_if(
        last->processes.begin(), last->processes.end(), [&](const ComputeProcess& process) {
            const Environment* environment = environmentOf(lookup, process);
            return (environment != nullptr ? environment->uid : process.user()) == user;
        }));
}

} // namespace

std::vector<LimitUse> limitUses(const Ledger& ledger, Uid user, const Limits& limits,
                                const Observation* last, const Idleness& idleness, BootTime now) {
    const Holdings holdings = holdingsOf(ledger, user);
    std::chrono::microseconds age{0};
    std::chrono::milliseconds idle{0};
    for (const EnvironmentId& id : ledger.environmentsOf(user)) {
        const Environment& environment = ledger.get(id);
        age = std::max(age, now - environment.began);
        for (const Attachment& attachment : environment.attachments)
            idle = std::max(idle, idleness.of(id, attachment.device.uuid, now));
    }
    return {
        {"MaxDevicesPerUser", limits.maxDevices, holdings.devices()},
        {"MaxEnvironmentsPerUser", limits.maxEnvironments, holdings.environments},
        {"MaxProcessesPerUser", limits.maxProcesses, computeProcesses(ledger, user, last)},
        {"MaxGpuMemoryPerUser", bytes(limits.maxGpuMemory), holdings.totalMemory().count},
        {"MaxGpuMemoryPerDevice", bytes(limits.maxGpuMemoryPerDevice),
         holdings.mostMemoryOnADevice().count},
        {"MaxLifetime", wholeSeconds(limits.maxLifetime), wholeSeconds(age)},
        {"IdleTimeout", wholeSeconds(limits.idleTimeout),
         wholeSeconds(std::chrono::microseconds(idle))},
    };
}

} // namespace genv::core
