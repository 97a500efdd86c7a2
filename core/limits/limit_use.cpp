// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/limits/limit_use.hpp"

#include "core/base/duration.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/membership.hpp"

#include <algorithm>

namespace genv::core {

namespace {

std::uint64_t computeProcesses(const LimitUseSources& from) {
    if (from.last == nullptr)
        return 0;
    const EnvironmentLookup lookup = lookupIn(from.ledger);
    const auto& processes = from.last->processes;
    return static_cast<std::uint64_t>(
        std::count_if(processes.begin(), processes.end(), [&](const ObservedProcess& process) {
            const EnvironmentRecord* environment = environmentOf(lookup, process);
            return (environment != nullptr ? environment->uid : process.user()) == from.user &&
                   !(environment != nullptr && from.ledger.isOfJob(*environment));
        }));
}

std::uint64_t oldestEnvironment(const LimitUseSources& from) {
    std::chrono::microseconds age{0};
    for (const EnvironmentRecord* environment : from.ledger.environmentsOf(from.user)) {
        if (!environment->job && !environment->parent)
            age = std::max(age, from.now - environment->began);
    }
    return wholeSeconds(age);
}

std::uint64_t maxIdleTime(const LimitUseSources& from) {
    std::chrono::milliseconds idle{0};
    for (const EnvironmentRecord* environment : from.ledger.environmentsOf(from.user)) {
        if (environment->parent)
            continue;
        for (const DeviceAttachment& attachment : environment->attachments)
            idle =
                std::max(idle, from.idleness.of(environment->id, attachment.device.uuid, from.now));
    }
    return wholeSeconds(idle);
}

std::uint64_t countOf(CountObserved what, const LimitUseSources& from) {
    switch (what) {
    case CountObserved::Processes:
        return computeProcesses(from);
    case CountObserved::OldestEnvironment:
        return oldestEnvironment(from);
    case CountObserved::IdleTime:
        return maxIdleTime(from);
    }
    return 0;
}

std::uint64_t countOf(const LimitDefinition& limit, const LimitUseSources& from,
                      const Holdings& ofUser, std::uint32_t freeLoans) {
    if (const auto* observed = std::get_if<CountObserved>(&limit.count))
        return countOf(*observed, from);
    const CountHeld held = std::get<CountHeld>(limit.count);
    if (limit.scope != LimitScope::Environment)
        return countOf(held, ofUser, freeLoans);
    std::uint64_t max = 0;
    for (const EnvironmentRecord* environment : from.ledger.environmentsOf(from.user)) {
        if (!environment->job && !environment->parent)
            max = std::max(max, countOf(held, holdingsOf(*environment), freeLoans));
    }
    return max;
}

} // namespace

std::uint64_t countOf(CountHeld what, const Holdings& holdings, std::uint32_t freeLoans) {
    switch (what) {
    case CountHeld::Devices:
        return holdings.devices(freeLoans);
    case CountHeld::Environments:
        return holdings.environments;
    case CountHeld::Memory:
        return holdings.totalMemory(freeLoans).count;
    case CountHeld::MemoryOnADevice:
        return holdings.maxMemoryPerDevice(freeLoans).count;
    case CountHeld::Loans:
        return holdings.loans.size();
    }
    return 0;
}

std::vector<LimitUse> limitUses(const Limits& limits, const LimitUseSources& from) {
    std::vector<LimitUse> uses;
    const Holdings ofUser = holdingsOf(from.ledger, from.user);
    for (const LimitDefinition& limit : limitDefinitions())
        uses.push_back({limit.key, limit.allowed(limits),
                        countOf(limit, from, ofUser, limits.maxPreemptibleDevices.value_or(0))});
    return uses;
}

} // namespace genv::core
