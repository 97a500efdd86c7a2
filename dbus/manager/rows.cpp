// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dbus/manager/rows.hpp"

#include "core/ledger/membership.hpp"
#include "core/placement/placement.hpp"
#include "core/settings/rule_definitions.hpp"
#include "dbus/calls/environment_options.hpp"
#include "dbus/calls/paths.hpp"
#include "dbus/calls/unknown.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

namespace genv::dbus {

namespace {

// Represents an unknown or unlimited number.
constexpr std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max();

// The maximum number of rows in a reply.
constexpr std::size_t maxReadings = 8192;

} // namespace

EnvironmentRows environmentRows(const core::LedgerView& ledger) {
    EnvironmentRows rows;
    rows.reserve(ledger.environments().size());
    for (const auto& [sequence, environment] : ledger.environments())
        rows.emplace_back(environment.id, environment.uid, environment.user,
                          environment.configuration.name.value_or(""),
                          core::toMicroseconds(environment.created), rootPids(environment),
                          environmentPath(environment.id));
    return rows;
}

DeviceRows deviceRows(const core::LedgerView& ledger) {
    DeviceRows rows;
    for (const auto& [index, device] : ledger.devices().byIndex())
        rows.emplace_back(index, device.facts.uuid, device.facts.model,
                          orMaximum(device.facts.knownMemory()), devicePath(index));
    return rows;
}

AttachmentRows attachmentRows(const core::LedgerView& ledger) {
    AttachmentRows rows;
    for (const auto& entry : ledger.devices().byIndex()) {
        entry.second.forEachHolder([&](const core::Holder& holder) {
            rows.emplace_back(entry.first, holder.environment,
                              ledger.get(holder.environment).configuration.name.value_or(""),
                              holder.attachment.share.value_or(core::Bytes{0}).count,
                              core::toMicroseconds(holder.attachment.since));
        });
    }
    return rows;
}

ProcessRows processRows(const core::LedgerView& ledger, const core::Observation& observation) {
    const core::EnvironmentLookup lookup = core::lookupIn(ledger);
    ProcessRows rows;
    for (const core::ObservedProcess& process : observation.processes) {
        std::vector<sdbus::Struct<std::uint32_t, std::uint64_t>> uses;
        for (const core::ComputeUse& use : process.uses) {
            if (const core::TableDevice* device = ledger.devices().findUuid(use.device))
                uses.emplace_back(device->facts.index, orMaximum(use.usedMemory));
        }
        const core::EnvironmentRecord* environment = core::environmentOf(lookup, process);
        rows.emplace_back(process.facts.identity.pid, process.user(),
                          environment != nullptr ? environment->id : "", std::move(uses));
    }
    return rows;
}

ReadingRows readingRows(const core::ReadingRing& readings, std::uint64_t since,
                        const core::DeviceTable& devices) {
    constexpr auto latest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const core::WallTime after = core::fromMicroseconds(std::min(since, latest));
    ReadingRows rows;
    for (const auto& [device, when, reading] : readings.after(after, maxReadings, devices))
        rows.emplace_back(device, core::toMicroseconds(when), orMaximum(reading.usedMemory),
                          orMaximum(reading.utilizationPercent),
                          orMaximum(reading.temperatureCelsius),
                          orMaximum(reading.powerMilliwatts));
    return rows;
}

QueueRows queueRows(const core::LedgerView& ledger, const core::Queue& queue) {
    QueueRows rows;
    for (const core::Queue::Ticket ticket : queue.order()) {
        const core::EnvironmentId& id = ledger.waits().at(ticket);
        const core::EnvironmentRecord& environment = ledger.get(id);
        const core::Wait& wait = ledger.wait(ticket);
        rows.emplace_back(ticket, id, environment.uid,
                          static_cast<std::uint32_t>(core::missing(wait.request, environment)),
                          core::toMicroseconds(wait.since));
    }
    return rows;
}

LimitRows limitRows(const std::vector<core::LimitUse>& uses) {
    LimitRows rows;
    for (const core::LimitUse& use : uses)
        rows.emplace(use.name, sdbus::make_struct(use.allowed.value_or(maximum), use.used));
    return rows;
}

VariantMap policyOf(const core::Settings& settings) {
    const auto seconds = [](std::chrono::milliseconds time) {
        return sdbus::Variant{
            static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(time).count())};
    };
    VariantMap policy{{"Interval", seconds(settings.interval)},
                      {"Grace", seconds(settings.grace)},
                      {"KillAfter", seconds(settings.killAfter)},
                      {"MaxWait", seconds(settings.maxWait)},
                      {"KeepFor", seconds(settings.keepFor)},
                      {"Order", sdbus::Variant{core::toString(settings.order)}},
                      {"HalfLife", seconds(settings.halfLife)},
                      {"MaxOvertaking", sdbus::Variant{settings.maxOvertaking}},
                      {"MaxFirst", seconds(settings.maxFirst)},
                      {"Linger", sdbus::Variant{settings.linger}},
                      {"KeepGrants", sdbus::Variant{settings.keepGrants}},
                      {"DryRun", sdbus::Variant{settings.dryRun}},
                      {"Isolation", sdbus::Variant{core::toString(settings.isolation.mode)}}};
    for (const auto& [rule, toggle] : core::switchedRules())
        policy.emplace(toggle.key, sdbus::Variant{settings.rules.*toggle.member});
    return policy;
}

} // namespace genv::dbus
