// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/environments/leases.hpp"

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

// Calls use(lease, device or nothing) for each lease of an environment.
template <typename Use>
void forEachLease(const EnvironmentRecord& environment, Use use) {
    if (environment.lease)
        use(*environment.lease, std::optional<DeviceFacts>{});
    for (const DeviceAttachment& attachment : environment.attachments) {
        if (attachment.lease)
            use(*attachment.lease, std::optional(attachment.device));
    }
}

} // namespace

std::vector<BootTime> warningsOf(const Lease& lease) {
    std::vector<BootTime> moments;
    const auto half = (lease.until - lease.granted) / 2;
    for (const std::chrono::microseconds before :
         {firstLeaseWarning, std::chrono::minutes{lastLeaseWarning}}) {
        if (before <= half)
            moments.push_back(lease.until - before);
    }
    if (moments.empty())
        moments.push_back(lease.until - half);
    return moments;
}

Leases::Leases(Ledger& ledger, const Clock& clock, Scheduler& scheduler, const EventHub& events)
    : ledger_(ledger), clock_(clock), scheduler_(scheduler), events_(events),
      checked_(clock.bootNow()) {}

void Leases::onEvent(const Event& event) {
    if (const auto* removed = std::get_if<EnvironmentRemoved>(&event))
        forget(removed->environment);
    else if (const auto* added = std::get_if<EnvironmentAdded>(&event))
        track(added->environment);
    else if (const auto* changed = std::get_if<EnvironmentChanged>(&event);
             changed != nullptr && (changed->field == EnvironmentField::Expires ||
                                    changed->field == EnvironmentField::Parking ||
                                    changed->field == EnvironmentField::Devices))
        track(changed->environment);
}

void Leases::track(const EnvironmentId& id) {
    untrack(id);
    const EnvironmentRecord* environment = ledger_.find(id);
    if (environment == nullptr || isBeingParked(*environment))
        return;
    std::optional<BootTime> next;
    forEachLease(*environment, [&](const Lease& lease, const auto&) {
        std::vector<BootTime> moments = warningsOf(lease);
        moments.push_back(lease.until);
        for (const BootTime moment : moments) {
            if ((moment > checked_ || moment == lease.until) && (!next || moment < *next))
                next = moment;
        }
    });
    if (!next)
        return;
    due_.emplace(*next, id);
    next_[id] = *next;
    schedule();
}

void Leases::untrack(const EnvironmentId& id) {
    if (const auto found = next_.find(id); found != next_.end()) {
        due_.erase({found->second, id});
        next_.erase(found);
    }
}

// Without this, environments that ended early would be kept in memory until their leases are over.
void Leases::forget(const EnvironmentId& id) {
    parking_.erase(id);
    if (!next_.contains(id))
        return;
    untrack(id);
    schedule(); // the timer may have no purpose now
}

// Deferred, since an action that is due immediately would change the ledger from within an event.
void Leases::schedule() {
    if (!std::exchange(scheduled_, true))
        scheduler_.soon([this] {
            scheduled_ = false;
            check();
        });
}

void Leases::check() {
    const BootTime now = clock_.bootNow();
    std::vector<EnvironmentId> ids;
    for (const auto& [moment, id] : due_) {
        if (moment > now)
            break;
        ids.push_back(id);
    }
    for (const EnvironmentId& id : ids)
        checkEnvironment(id, now);
    checked_ = now;
    std::for_each(ids.begin(), ids.end(), [this](const EnvironmentId& id) { track(id); });
    timer_.reset();
    if (!due_.empty())
        timer_ = scheduler_.after(
            std::chrono::ceil<std::chrono::milliseconds>(
                std::max(due_.begin()->first - clock_.bootNow(), std::chrono::microseconds{0})),
            [this] { check(); });
}

void Leases::checkEnvironment(const EnvironmentId& id, BootTime now) {
    const Cause expired{Reason::expired(), 0, true};
    const EnvironmentRecord* environment = ledger_.find(id);
    if (environment == nullptr || isBeingParked(*environment))
        return;
    if (environment->lease && environment->lease->until <= now) {
        if (tryToPark(*environment))
            return;
        ledger_.end(id, expired);
        return;
    }
    std::vector<DeviceUuid> over;
    forEachLease(*environment, [&](const Lease& lease, const std::optional<DeviceFacts>& device) {
        if (lease.until <= now)
            over.push_back(device->uuid);
        else
            warn(*environment, lease, device, now);
    });
    for (const DeviceUuid& device : over)
        ledger_.takeAway(id, device, expired);
}

// Returns whether the end of its lease waits for the outcome of a parking.
bool Leases::isBeingParked(const EnvironmentRecord& environment) const {
    return parking_.contains(environment.id) ||
           (environment.parking && environment.parking->reason == Reason::expired().text());
}

bool Leases::tryToPark(const EnvironmentRecord& environment) {
    if (!park_ || environment.parking)
        return false;
    const EnvironmentId id = environment.id;
    const auto done = [this, lives = std::weak_ptr(alive_), id,
                       sequence = environment.sequence](bool isParked) {
        if (lives.expired())
            return;
        const auto found = parking_.find(id);
        if (found == parking_.end() || found->second != sequence)
            return; // it has ended
        parking_.erase(found);
        if (isParked)
            return;
        const EnvironmentRecord& now = ledger_.get(id);
        if (now.lease && now.lease->until <= clock_.bootNow())
            ledger_.end(id, {Reason::expired(), 0, true});
        else
            track(id); // it was extended meanwhile
    };
    parking_[id] = environment.sequence;
    if (park_(id, done))
        return true;
    parking_.erase(id);
    return false;
}

void Leases::warn(const EnvironmentRecord& environment, const Lease& lease,
                  const std::optional<DeviceFacts>& device, BootTime now) {
    const std::vector<BootTime> moments = warningsOf(lease);
    const bool isDue = std::any_of(moments.begin(), moments.end(), [&](BootTime moment) {
        return moment > checked_ && moment <= now;
    });
    if (isDue)
        events_.emit(LeaseEnding{environment.id, environment.uid, device,
                                 std::chrono::ceil<std::chrono::milliseconds>(lease.until - now)});
}

} // namespace genv::core
