// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/limits/admission.hpp"

#include "core/base/duration.hpp"
#include "core/ledger/holdings.hpp"
#include "core/limits/limit_use.hpp"
#include "core/sentences/sentences.hpp"
#include "core/settings/limit_definitions.hpp"
#include "core/settings/rule_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

bool isLimited(LimitedRequest request, const Limits& limits) {
    const auto all = limitDefinitions();
    return std::any_of(all.begin(), all.end(), [&](const LimitDefinition& limit) {
        return limit.refuses == request && limit.allowed(limits);
    });
}

// If several limits are violated, the request is refused because of the one whose rule is first.
template <typename Use>
QuotaViolation firstViolated(LimitedRequest request, const Use& use) {
    for (const RuleDefinition& rule : ruleDefinitions()) {
        const LimitDefinition* limit = findLimit(rule.name);
        if (limit == nullptr || limit->refuses != request)
            continue;
        if (QuotaViolation violation = use(*limit))
            return violation;
    }
    return std::nullopt;
}

std::string amountOf(const LimitDefinition& limit, std::uint64_t amount) {
    if (limit.unit() == LimitUnit::Memory)
        return fmt::format("{} of {}", nameMemory({amount}), limit.thing);
    return fmt::format("{} {}{}", amount, limit.thing, amount == 1 ? "" : "s");
}

QuotaViolation compare(const LimitDefinition& limit, const Limits& limits, std::uint64_t would) {
    const auto allowed = limit.allowed(limits);
    if (!allowed || would <= *allowed)
        return std::nullopt;
    return fmt::format(
        "{} may have {}, and this would make {} ({})",
        limit.scope == LimitScope::Environment ? "an environment" : "you",
        amountOf(limit, *allowed),
        limit.unit() == LimitUnit::Memory ? nameMemory({would}) : std::to_string(would), limit.key);
}

QuotaViolation compare(const LimitDefinition& limit, const Limits& limits, const Holdings& ofUser,
                       const Holdings& ofEnvironment) {
    return compare(limit, limits,
                   countOf(std::get<CountHeld>(limit.count),
                           limit.scope == LimitScope::Environment ? ofEnvironment : ofUser,
                           limits.maxPreemptibleDevices.value_or(0)));
}

QuotaViolation admitEnvironments(const Holdings& ofUser, const Limits& limits) {
    return firstViolated(LimitedRequest::Activation, [&](const LimitDefinition& limit) {
        return compare(limit, limits, ofUser, {});
    });
}

QuotaViolation comparePlacement(Holdings ofUser, Holdings ofEnvironment, const Limits& limits,
                                const Placement& placement, const KeptForUser& kept,
                                bool isPreemptible) {
    if (placement.attach.empty())
        return std::nullopt;
    for (const KeptDevice& device : kept) {
        const bool isUsed = std::any_of(
            placement.attach.begin(), placement.attach.end(), [&](const Placement::Device& used) {
                return used.facts.uuid == device.device.uuid && !used.keptFor.empty();
            });
        if (!isUsed)
            ofUser.add(device.device, device.share, device.isLoan);
    }
    for (const Placement::Device& device : placement.attach) {
        const bool isLoan = isPreemptible && !placement.share && !device.overSubscribed;
        ofUser.add(device.facts, placement.share, isLoan);
        ofEnvironment.add(device.facts, placement.share, isLoan);
    }
    return admitHoldings(ofUser, ofEnvironment, limits);
}

} // namespace

// Holdings are counted only if they are limited. Root's never are, and root may hold any number of
// environments.
bool areDevicesLimited(const Limits& limits) {
    return isLimited(LimitedRequest::Devices, limits);
}

QuotaViolation admitHoldings(const Holdings& ofUser, const Holdings& ofEnvironment,
                             const Limits& limits) {
    return firstViolated(LimitedRequest::Devices, [&](const LimitDefinition& limit) {
        return compare(limit, limits, ofUser, ofEnvironment);
    });
}

QuotaViolation admitActivation(const LedgerView& ledger, const UserInfo& owner,
                               const Limits& limits, const std::optional<Plan>& plan,
                               const KeptForUser& kept, Preemptible preemptible) {
    if (!isLimited(LimitedRequest::Activation, limits) && !areDevicesLimited(limits))
        return std::nullopt;
    Holdings ofUser = holdingsOf(ledger, owner.uid);
    ++ofUser.environments;
    auto violation = admitEnvironments(ofUser, limits);
    if (violation || !plan)
        return violation;
    return comparePlacement(std::move(ofUser), {}, limits, placementOf(*plan), kept,
                            preemptible != Preemptible::No);
}

QuotaViolation admitAttachment(const LedgerView& ledger, const EnvironmentRecord& environment,
                               const Limits& limits, const Plan& plan, const KeptForUser& kept) {
    if (!isLimited(LimitedRequest::Activation, limits) && !areDevicesLimited(limits))
        return std::nullopt;
    Holdings ofUser = holdingsOf(ledger, environment.uid, &environment);
    if (!environment.isCounted() && !placementOf(plan).attach.empty()) {
        ++ofUser.environments;
        if (auto violation = admitEnvironments(ofUser, limits))
            return violation;
    }
    if (!areDevicesLimited(limits))
        return std::nullopt;
    return comparePlacement(std::move(ofUser), holdingsOf(environment), limits, placementOf(plan),
                            kept, environment.configuration.preemptible != Preemptible::No);
}

QuotaViolation admitEndOfLoan(const LedgerView& ledger, EnvironmentRecord environment,
                              const Limits& limits) {
    if (environment.configuration.preemptible == Preemptible::No || environment.parent ||
        !areDevicesLimited(limits))
        return std::nullopt;
    environment.configuration.preemptible = Preemptible::No;
    return admitHoldings(holdingsOf(ledger, environment.uid, &environment), holdingsOf(environment),
                         limits);
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

QuotaViolation admitConfiguration(const Limits& limits,
                                  const EnvironmentConfigurationChange& change,
                                  Preemptible before) {
    const std::optional<std::uint32_t> gpus = change.gpus.value_or(std::nullopt);
    const std::optional<Bytes> memory = change.gpuMemory.value_or(std::nullopt);
    const bool isLoan = change.preemptible.value_or(before) != Preemptible::No && !memory;
    const std::uint32_t freeLoans = isLoan ? limits.maxPreemptibleDevices.value_or(0) : 0;
    return firstViolated(
        LimitedRequest::Devices, [&](const LimitDefinition& limit) -> QuotaViolation {
            if (limit.unit() == LimitUnit::Count)
                return compare(limit, limits,
                               gpus.value_or(0) - std::min(gpus.value_or(0), freeLoans));
            return compare(limit, limits, memory.value_or(Bytes{0}).count);
        });
}

} // namespace genv::core
