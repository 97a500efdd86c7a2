// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/admission.hpp"

#include "core/duration.hpp"
#include "core/holdings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace genv::core {

namespace {

std::string tooMany(std::size_t allowed, std::string_view thing, std::size_t would,
                    std::string_view limit) {
    return fmt::format("a user may have {} {}{}, and this would make {} ({})", allowed, thing,
                       allowed == 1 ? "" : "s", would, limit);
}

QuotaViolation compareMemory(const Holdings& after, const Limits& limits) {
    if (limits.maxGpuMemoryPerDevice && after.mostMemoryOnADevice() > *limits.maxGpuMemoryPerDevice)
        return fmt::format("a user may have {} of GPU memory on one device, and this would make {} "
                           "(MaxGpuMemoryPerDevice)",
                           formatBytes(*limits.maxGpuMemoryPerDevice),
                           formatBytes(after.mostMemoryOnADevice()));
    if (limits.maxGpuMemory && after.totalMemory() > *limits.maxGpuMemory)
        return fmt::format(
            "a user may have {} of GPU memory, and this would make {} (MaxGpuMemoryPerUser)",
            formatBytes(*limits.maxGpuMemory), formatBytes(after.totalMemory()));
    return std::nullopt;
}

QuotaViolation comparePlacement(Holdings holdings, const Limits& limits, const Placement& placement,
                                const KeptForUser& kept) {
    if (placement.attach.empty())
        return std::nullopt;
    for (const KeptDevice& device : kept) {
        const bool isUsed = std::any_of(
            placement.attach.begin(), placement.attach.end(), [&](const Placement::Device& used) {
                return used.facts.uuid == device.device.uuid && !used.keptFor.empty();
            });
        if (!isUsed)
            holdings.add(device.device, device.share);
    }
    for (const Placement::Device& device : placement.attach)
        holdings.add(device.facts, placement.share);
    return admitHoldings(holdings, limits);
}

} // namespace

// What somebody holds is counted only where it is limited: root's, which never is, may be any
// number of environments.
bool areDevicesLimited(const Limits& limits) {
    return limits.maxDevices || limits.maxGpuMemory || limits.maxGpuMemoryPerDevice;
}

QuotaViolation admitHoldings(const Holdings& holdings, const Limits& limits) {
    if (limits.maxDevices && holdings.devices() > *limits.maxDevices)
        return tooMany(*limits.maxDevices, "device", holdings.devices(), "MaxDevicesPerUser");
    return compareMemory(holdings, limits);
}

QuotaViolation admitActivation(const Ledger& ledger, const UserInfo& owner, const Limits& limits,
                               const std::optional<Placement>& placement, const KeptForUser& kept) {
    if (!limits.maxEnvironments && !areDevicesLimited(limits))
        return std::nullopt;
    const Holdings holdings = holdingsOf(ledger, owner.uid);
    if (limits.maxEnvironments && holdings.environments + 1 > *limits.maxEnvironments)
        return tooMany(*limits.maxEnvironments, "environment", holdings.environments + 1,
                       "MaxEnvironmentsPerUser");
    return placement ? comparePlacement(holdings, limits, *placement, kept) : std::nullopt;
}

QuotaViolation admitAttachment(const Ledger& ledger, const Environment& environment,
                               const Limits& limits, const Placement& placement,
                               const KeptForUser& kept) {
    if (!areDevicesLimited(limits))
        return std::nullopt;
    return comparePlacement(holdingsOf(ledger, environment.uid), limits, placement, kept);
}

QuotaViolation admitLifetime(const Limits& limits, std::chrono::microseconds age,
                             std::optional<std::chrono::seconds> lifetime) {
    if (!limits.maxLifetime)
        return std::nullopt;
    const std::string allowed = formatDuration(*limits.maxLifetime);
    if (!lifetime)
        return fmt::format("an environment may last {}, so its lease has to stay (MaxLifetime)",
                           allowed);
    const auto all = std::chrono::duration_cast<std::chrono::milliseconds>(age) + *lifetime;
    if (all <= *limits.maxLifetime)
        return std::nullopt;
    return fmt::format("an environment may last {}, and this would make {} (MaxLifetime)", allowed,
                       formatDuration(all));
}

QuotaViolation admitConfiguration(const Limits& limits, const ConfigurationChange& change) {
    const std::optional<std::uint32_t> gpus = change.gpus.value_or(std::nullopt);
    if (limits.maxDevices && gpus && *gpus > *limits.maxDevices)
        return tooMany(*limits.maxDevices, "device", *gpus, "MaxDevicesPerUser");
    const std::optional<Bytes> memory = change.gpuMemory.value_or(std::nullopt);
    for (const auto& [limit, name] :
         {std::pair(limits.maxGpuMemoryPerDevice, "MaxGpuMemoryPerDevice"),
          std::pair(limits.maxGpuMemory, "MaxGpuMemoryPerUser")}) {
        if (limit && memory && *memory > *limit)
            return fmt::format("a user may have {} of GPU memory, and this would make {} ({})",
                               formatBytes(*limit), formatBytes(*memory), name);
    }
    return std::nullopt;
}

} // namespace genv::core
