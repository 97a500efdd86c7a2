// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides which environments are loans, and when they can be taken.
#include "core/loans/takings.hpp"
#include "core/placement/placement.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

// Returns whether an environment holds its devices whole and alone.
bool holdsWhole(const LedgerView& ledger, const EnvironmentRecord& environment) {
    return std::ranges::all_of(environment.attachments, [&](const DeviceAttachment& attachment) {
        const TableDevice* device = ledger.devices().findUuid(attachment.device.uuid);
        return !attachment.share && device != nullptr && device->holders.size() == 1;
    });
}

Bytes usedOn(const LedgerView& ledger, const DeviceUuid& uuid) {
    const TableDevice* device = ledger.devices().findUuid(uuid);
    return device != nullptr ? device->reading.usedMemory.value_or(Bytes{0}) : Bytes{0};
}

} // namespace

Bytes memoryToMove(const LedgerView& ledger, const EnvironmentRecord& environment) {
    if (environment.parking)
        return environment.parking->bytes();
    Bytes sum;
    for (const DeviceAttachment& attachment : environment.attachments)
        sum = sum + usedOn(ledger, attachment.device.uuid);
    return sum;
}

bool Takings::mayPark() const {
    return rules_.settings().enable && (rules_.settings().withoutIsolation || rules_.isIsolated());
}

bool Takings::isAnyLoan() const {
    return !running_.empty() || std::ranges::any_of(ledger_.environments(), [](const auto& entry) {
        return entry.second.configuration.preemptible != Preemptible::No;
    });
}

bool Takings::mayTake(Preemptible taker) const {
    return taker == Preemptible::No || rules_.settings().turn;
}

// Decides without restsUntil(), which changes with time.
bool Takings::isLoan(const EnvironmentRecord& environment) const {
    const bool isOfKind = environment.configuration.preemptible == Preemptible::End ||
                          (environment.configuration.preemptible == Preemptible::Park && mayPark());
    return isOfKind && !environment.attachments.empty() && !environment.parking &&
           !environment.pendingEnd && !environment.parent && !environment.job &&
           environment.waits.empty() && ledger_.childrenOf(environment.id).empty() &&
           holdsWhole(ledger_, environment);
}

std::optional<BootTime> Takings::restsUntil(const EnvironmentRecord& environment,
                                            Preemptible taker) const {
    std::optional<BootTime> until;
    const auto notBefore = [&](BootTime time) { until = std::max(until.value_or(time), time); };
    if (const auto found = rested_.find(environment.id); found != rested_.end())
        notBefore(found->second + restAfterReturn);
    if (const auto found = failed_.find(environment.id); found != failed_.end())
        notBefore(found->second.until);
    if (taker != Preemptible::No && rules_.settings().turn) {
        for (const DeviceAttachment& attachment : environment.attachments)
            notBefore(attachment.began + *rules_.settings().turn);
    }
    return until;
}

std::vector<TakeableEnvironment> Takings::loansFor(Preemptible taker,
                                                   std::optional<std::uint64_t> ticket) const {
    std::vector<TakeableEnvironment> loans;
    // One that is being parked for any request may serve this one as well.
    const auto isMoving = [&](const EnvironmentRecord& loan) {
        bool isVictim = false;
        for (const auto& [other, running] : running_) {
            const auto victim = std::ranges::find(running.victims, loan.id, &Victim::id);
            if (victim == running.victims.end())
                continue;
            isVictim = true;
            if (victim->failure || (other != ticket && victim->ending))
                return false;
        }
        return isVictim && (loan.isAt(ParkingStep::Parking) || !loan.parking);
    };
    for (const auto& [sequence, loan] : ledger_.environments()) {
        if (loan.configuration.preemptible == Preemptible::No || loan.attachments.empty())
            continue;
        const bool isOwn = isMoving(loan);
        if (!isOwn &&
            (!isLoan(loan) || restsUntil(loan, taker).value_or(BootTime{}) > clock_.bootNow()))
            continue;
        TakeableEnvironment row{
            loan.id, {}, memoryToMove(ledger_, loan), loan.attachments.back().sequence, isOwn};
        for (const DeviceAttachment& attachment : loan.attachments)
            row.devices.push_back(attachment.device.uuid);
        loans.push_back(std::move(row));
    }
    return loans;
}

bool Takings::parkIdle(const EnvironmentId& id, const DeviceUuid& uuid) {
    const EnvironmentRecord* environment = ledger_.find(id);
    const TableDevice* device = ledger_.devices().findUuid(uuid);
    if (environment == nullptr || device == nullptr || !mayPark() || environment->parking ||
        !environment->waits.empty() ||
        restsUntil(*environment, Preemptible::No).value_or(BootTime{}) > clock_.bootNow())
        return false;
    const auto wantsIt = [&](const auto& waiting) {
        const Wait& wait = ledger_.wait(waiting.first);
        return !wait.heldSince && !ledger_.get(waiting.second).parent &&
               isAskedFor(wait.request, *device);
    };
    if (!std::ranges::any_of(ledger_.waits(), wantsIt))
        return false;
    return parkings_.tryToPark(
        id, Reason::idle(), [this, lives = std::weak_ptr(alive_), id](bool isParked) {
            const EnvironmentRecord* now = lives.expired() ? nullptr : ledger_.find(id);
            if (now != nullptr && !isParked)
                noteFailure(*now, {ErrorCode::Busy, now->parkingProblem});
        });
}

std::chrono::milliseconds Takings::estimate(const TakingPlan& plan) const {
    Bytes largest;
    for (const EnvironmentId& id : plan.victims) {
        for (const DeviceAttachment& attachment : ledger_.get(id).attachments)
            largest = std::max(largest, usedOn(ledger_, attachment.device.uuid));
    }
    return estimateMove(largest);
}

BootTime Takings::deadline(std::chrono::milliseconds estimate) const {
    return clock_.bootNow() + std::max(rules_.settings().timeout, 2 * estimate);
}

void Takings::watch() {
    const BootTime now = clock_.bootNow();
    std::optional<BootTime> next;
    for (const auto& [sequence, loan] : ledger_.environments()) {
        if (loan.configuration.preemptible == Preemptible::No || !isLoan(loan))
            continue;
        for (const Preemptible taker : {Preemptible::No, Preemptible::Park}) {
            const auto until = restsUntil(loan, taker);
            if (until && *until > now)
                next = std::min(next.value_or(*until), *until);
        }
    }
    wake_.reset();
    if (next)
        wake_ = scheduler_.after(std::chrono::ceil<std::chrono::milliseconds>(*next - now),
                                 [this] { changed(); });
}

} // namespace genv::core
