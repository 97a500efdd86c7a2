// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/queue/unavailable.hpp"

#include "core/base/duration.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace genv::core {

namespace {

constexpr std::size_t maxNamed = 4;

// Returns the longest lifetime with which a request gets its devices now. The later its lease would
// end, the fewer keepers it passes.
std::optional<std::chrono::milliseconds>
maxLifetime(const AttachRequest& request, const Requester& requester, const KeptDevices& kept) {
    const std::vector<BootTime> starts = kept.starts();
    const auto isRefused = [&](BootTime leaseEnd) {
        try {
            return !placeIfAvailable(request, kept.devices(), requester, kept.reservations(),
                                     leaseEnd);
        } catch (const Error&) {
            return true;
        }
    };
    const auto found = std::partition_point(starts.begin(), starts.end(), isRefused);
    if (found == starts.end())
        return std::nullopt;
    // Rounded down, so that there is time to type it.
    const auto lifetime = *found - kept.now();
    if (lifetime >= std::chrono::minutes{1})
        return std::chrono::floor<std::chrono::minutes>(lifetime);
    if (lifetime >= std::chrono::seconds{1})
        return std::chrono::floor<std::chrono::seconds>(lifetime);
    return std::nullopt;
}

/// The wanted devices that an environment has held since one moment.
struct HeldSince {
    EnvironmentId environment;
    std::string since;
    std::vector<DeviceIndex> devices;
};

std::vector<HeldSince> holdsOfWanted(const AttachRequest& request, const DeviceTable& devices) {
    std::vector<HeldSince> holds;
    for (const auto& [index, device] : devices.byIndex()) {
        if (!isAskedFor(request, device))
            continue;
        for (const Holder& holder : device.holders) {
            const std::string since = nameTime(holder.attachment.since);
            const auto known = std::ranges::find_if(holds, [&](const HeldSince& hold) {
                return hold.environment == holder.environment && hold.since == since;
            });
            if (known == holds.end())
                holds.push_back({holder.environment, since, {index}});
            else
                known->devices.push_back(index);
        }
    }
    return holds;
}

// Returns whether the request names one device.
bool isForOne(const AttachRequest& request) {
    const auto* indices = std::get_if<IndicesWanted>(&request.wanted);
    const auto* uuids = std::get_if<UuidsWanted>(&request.wanted);
    return (indices != nullptr && indices->indices.size() == 1) ||
           (uuids != nullptr && uuids->uuids.size() == 1);
}

} // namespace

std::string describeKeepers(const AttachRequest& request, const Requester& requester,
                            const LedgerView& ledger, const KeptDevices& kept) {
    std::map<std::uint64_t, std::vector<DeviceIndex>> byKeeper;
    for (const auto& [index, device] : kept.devices().byIndex()) {
        const auto keepers = kept.reservations().keepersOf(device.facts.uuid);
        if (!keepers.empty() && isAskedFor(request, device))
            byKeeper[keepers.front().ticket].push_back(index);
    }
    std::string text;
    std::size_t named = 0;
    for (const auto& [ticket, indices] : byKeeper) {
        if (++named > maxNamed)
            break;
        const EnvironmentRecord& keeper = ledger.get(ledger.waits().at(ticket));
        text += fmt::format("; {} {} kept for {} (environment {})", nameGpus(indices),
                            indices.size() == 1 ? "is" : "are", escaped(keeper.user), keeper.id);
    }
    if (byKeeper.empty())
        return text;
    if (const auto lifetime = maxLifetime(request, requester, kept))
        text += fmt::format("; with a lifetime of at most {} this request could start now",
                            formatDuration(*lifetime));
    return text;
}

std::string describeHolders(const AttachRequest& request, const DeviceTable& devices,
                            const LedgerView& ledger) {
    const std::vector<HeldSince> holds = holdsOfWanted(request, devices);
    std::vector<std::string> clauses;
    for (const HeldSince& hold : holds) {
        if (clauses.size() == maxNamed)
            break;
        clauses.push_back(fmt::format(
            "{} holds {} (environment {}) since {}", escaped(ledger.get(hold.environment).user),
            isForOne(request) ? "it" : nameGpus(hold.devices), hold.environment, hold.since));
    }
    const std::size_t others = holds.size() - clauses.size();
    return fmt::format("{}{}", fmt::join(clauses, ", "),
                       others == 0 ? "" : fmt::format(" and {} more", others));
}

} // namespace genv::core
