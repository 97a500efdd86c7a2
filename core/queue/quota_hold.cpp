// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/queue/quota_hold.hpp"

#include "core/limits/admission.hpp"
#include "core/limits/limit_use.hpp"
#include "core/placement/placement.hpp"
#include "core/sentences/sentences.hpp"
#include "core/settings/limit_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

namespace genv::core {

namespace {

std::uint64_t heldOf(const LimitDefinition& limit, const QuotaUse& use, const Limits& limits) {
    return countOf(std::get<CountHeld>(limit.count),
                   limit.scope == LimitScope::Environment ? use.ofEnvironment : use.ofUser,
                   limits.maxPreemptibleDevices.value_or(0));
}

// Returns the first limit that the holdings with the request exceed. `before`: without it.
std::optional<QuotaHold> firstExceeded(const QuotaUse& before, const QuotaUse& after,
                                       const Limits& limits) {
    for (const LimitDefinition& limit : limitDefinitions()) {
        const bool isChecked =
            limit.refuses == LimitedRequest::Devices ||
            (limit.refuses == LimitedRequest::Activation && before.startsEnvironment);
        const auto allowed = isChecked ? limit.allowed(limits) : std::nullopt;
        if (allowed && heldOf(limit, after, limits) > *allowed)
            return QuotaHold{limit.key, heldOf(limit, before, limits), *allowed};
    }
    return std::nullopt;
}

void add(QuotaUse& use, const DeviceFacts& device, std::optional<Bytes> share) {
    use.ofUser.add(device, share, use.isLoan);
    use.ofEnvironment.add(device, share, use.isLoan);
}

QuotaUse withEnvironment(QuotaUse use) {
    if (use.startsEnvironment)
        ++use.ofUser.environments;
    return use;
}

std::optional<QuotaHold> exceededBy(const std::vector<DeviceFacts>& devices,
                                    const AttachRequest& request, const QuotaUse& use,
                                    const Limits& limits) {
    QuotaUse after = withEnvironment(use);
    for (const DeviceFacts& device : devices)
        add(after, device, request.share);
    return firstExceeded(use, after, limits);
}

// The devices of one kind that a request for a number of devices could get, cheapest first. A
// device that the owner holds and has to give back first counts as a further one, and comes last.
std::vector<DeviceFacts> choices(const AttachRequest& request, const DeviceTable& devices,
                                 const EnvironmentRecord* environment, DeviceKind kind,
                                 const QuotaUse& use, const Limits& limits) {
    struct Choice {
        std::tuple<bool, bool, bool, std::uint64_t> cost;
        DeviceFacts facts;
    };
    std::vector<Choice> all;
    for (const TableDevice* device : candidates(request, devices, environment, kind)) {
        const auto held = use.ofUser.memory.find(device->facts.uuid);
        const bool isOwn = held != use.ofUser.memory.end();
        const bool fits =
            request.share ? isOwn && held->second + *request.share <= device->memory() : false;
        const bool isGivenBackFirst = isOwn && !fits && !request.overSubscribe;
        DeviceFacts facts = device->facts;
        if (isGivenBackFirst)
            facts.uuid += " (another)";
        const bool isForbidden = exceededBy({facts}, request, use, limits).has_value();
        all.push_back({{isGivenBackFirst, isForbidden, !isOwn, device->facts.totalMemory.count},
                       std::move(facts)});
    }
    std::ranges::stable_sort(all, {}, &Choice::cost);
    std::vector<DeviceFacts> sorted;
    for (Choice& choice : all)
        sorted.push_back(std::move(choice.facts));
    return sorted;
}

// The verb of the limit's text for the second person: "holds {}" becomes "hold {}".
std::string inSecondPerson(std::string_view text) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string_view verb = text.substr(0, end);
    return fmt::format("{}{}", verb == "has" ? "have" : verb.substr(0, verb.size() - 1),
                       text.substr(end));
}

std::string amountOf(const LimitDefinition& limit, std::uint64_t amount, bool withNoun) {
    if (limit.unit() == LimitUnit::Memory)
        return nameMemory({amount});
    if (!withNoun)
        return std::to_string(amount);
    return fmt::format("{} {}{}", amount, limit.over.thing, amount == 1 ? "" : "s");
}

std::string describe(const QuotaHold& hold, std::string_view subject, bool isReader) {
    const LimitDefinition* limit = findLimitByKey(hold.limit);
    const bool ofEnvironment = limit->scope == LimitScope::Environment;
    const std::string has =
        isReader ? inSecondPerson(limit->over.has) : std::string(limit->over.has);
    return fmt::format("{} {} and may have {}{} ({})", subject,
                       fmt::format(fmt::runtime(has), amountOf(*limit, hold.used, true)),
                       amountOf(*limit, hold.allowed, false), ofEnvironment ? " there" : "",
                       limit->key);
}

} // namespace

std::optional<QuotaHold> quotaHold(const AttachRequest& request, const DeviceTable& devices,
                                   const EnvironmentRecord* environment, const QuotaUse& use,
                                   const Limits& limits) {
    if (auto hold = exceededBy({}, request, use, limits))
        return hold;
    if (!areDevicesLimited(limits))
        return std::nullopt;
    if (!std::holds_alternative<CountWanted>(request.wanted)) {
        std::vector<DeviceFacts> named;
        for (const TableDevice* device : namedDevices(request, devices, environment))
            named.push_back(device->facts);
        return exceededBy(named, request, use, limits);
    }
    const std::size_t need = environment != nullptr ? missing(request, *environment)
                                                    : std::get<CountWanted>(request.wanted).count;
    std::optional<QuotaHold> hold;
    for (const DeviceKind kind : {DeviceKind::Gpu, DeviceKind::MigInstance}) {
        auto all = choices(request, devices, environment, kind, use, limits);
        if (all.size() < need)
            continue;
        all.resize(need);
        const auto exceeded = exceededBy(all, request, use, limits);
        if (!exceeded)
            return std::nullopt;
        hold = hold ? hold : exceeded;
    }
    return hold;
}

bool fitsQuota(const AttachRequest& request, const DeviceTable& devices, bool startsEnvironment,
               const Limits& limits, bool isLoan) {
    QuotaUse nothing;
    nothing.startsEnvironment = startsEnvironment;
    nothing.isLoan = isLoan;
    return !quotaHold(request, devices, nullptr, nothing, limits);
}

Reservations withoutForbidden(Reservations reservations, const AttachRequest& request,
                              const DeviceTable& devices, const EnvironmentRecord& environment,
                              const QuotaUse& use, const Limits& limits) {
    if (!areDevicesLimited(limits))
        return reservations;
    constexpr BootTime always{};
    for (const DeviceKind kind : {DeviceKind::Gpu, DeviceKind::MigInstance}) {
        for (const TableDevice* device : candidates(request, devices, &environment, kind)) {
            if (exceededBy({device->facts}, request, use, limits))
                reservations.add(device->facts.uuid, std::nullopt, {0, always});
        }
    }
    return reservations;
}

std::string describeHold(const QuotaHold& hold, std::string_view user) {
    return describe(hold, user, false);
}

std::string describeOwnHold(const QuotaHold& hold) {
    return describe(hold, "you", true);
}

} // namespace genv::core
