// SPDX-License-Identifier: LGPL-2.1-or-later
// Takings in the ledger: the part of a waiting request that core/loans/takings.hpp drives, and the
// requests of environments that were parked for others.
#include "core/ledger/ledger.hpp"
#include "core/placement/fair_order.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

Wait& waitIn(EnvironmentRecord& environment, std::uint64_t ticket) {
    return *std::ranges::find(environment.waits, ticket, &Wait::ticket);
}

} // namespace

void Ledger::take(std::uint64_t ticket, const PendingTaking& taking,
                  const std::vector<std::uint64_t>& overtaken) {
    std::vector<EnvironmentRecord> nexts{get(waits_.at(ticket))};
    waitIn(nexts.front(), ticket).taking = taking;
    for (const std::uint64_t other : overtaken) {
        nexts.push_back(get(waits_.at(other)));
        ++waitIn(nexts.back(), other).overtakings;
    }
    const Cause cause = Cause::request(wait(ticket).actor, nexts.front().uid);
    apply(std::move(nexts), cause);
}

void Ledger::setTaking(std::uint64_t ticket, const std::optional<PendingTaking>& taking) {
    const auto found = waits_.find(ticket);
    if (found == waits_.end() || wait(ticket).taking == taking)
        return;
    EnvironmentRecord next = get(found->second);
    waitIn(next, ticket).taking = taking;
    applyFact(std::move(next), Cause::fact(Reason::user()));
}

// An environment that others' requests parked waits for its devices from that moment on.
void Ledger::awaitResume(EnvironmentRecord& environment) {
    const Parking& parking = *environment.parking;
    const bool isForOthers =
        parking.reason == Reason::taken().text() || parking.reason == Reason::idle().text();
    if (!isForOthers || parking.devices.empty() || !environment.waits.empty())
        return;
    Wait wait;
    wait.ticket = ++lastSequence_;
    wait.request = requestToResume(parking);
    wait.since = clock_.wallNow();
    wait.actor = environment.uid;
    wait.began = clock_.bootNow();
    wait.exempt = std::ranges::all_of(parking.devices, [](const ReleasedDevice& device) {
        return device.exempt || device.overLimit;
    });
    // Before the other requests of its user, which would otherwise start, and be parked, too.
    wait.priority = maxPriority;
    wait.holdForQuota = true;
    wait.resumes = true;
    environment.waits.push_back(std::move(wait));
}

} // namespace genv::core
