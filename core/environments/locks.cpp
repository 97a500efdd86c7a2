// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/environments/locks.hpp"

#include "core/ledger/recovery.hpp"
#include "core/settings/caps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace genv::core {

Locks::Locks(Ledger& ledger, LockDescriptors& descriptors, Scheduler& scheduler, Log& log)
    : ledger_(ledger), descriptors_(descriptors), scheduler_(scheduler), log_(log) {
    descriptors_.onRelease([this](std::uint64_t number) {
        descriptors_.close(number);
        ledger_.unlock(number);
    });
}

void Locks::recover() {
    releaseLost();
    expectClients();
}

void Locks::releaseLost() {
    std::set<std::uint64_t> held;
    for (const auto& [number, environment] : ledger_.locks())
        held.insert(number);
    const std::set<std::uint64_t> found = descriptors_.found();
    for (const std::uint64_t number : found) {
        if (!held.contains(number))
            descriptors_.close(number);
    }
    for (const std::uint64_t number : held) {
        if (found.contains(number))
            continue;
        log_.warning("the lock of environment {} is lost: its descriptor was not kept",
                     ledger_.locks().at(number));
        ledger_.unlock(number);
    }
}

// The service may have stopped while it granted a lock. Then the client either has the lock or
// calls again.
void Locks::expectClients() {
    for (const auto& [sequence, environment] : ledger_.environments()) {
        const std::vector<LockWait> waits = environment.lockWaits;
        for (const LockWait& wait : waits) {
            if (ledger_.locks().contains(wait.ticket)) {
                if (!descriptors_.isReleased(wait.ticket)) {
                    ledger_.endLockWait(environment.id, wait.ticket);
                    continue;
                }
                descriptors_.close(wait.ticket);
                ledger_.unlock(wait.ticket);
            }
            waiters_[wait.ticket] = {environment.id, sequence, wait.actor, {}, true};
        }
    }
    if (!waiters_.empty())
        timeout_ = scheduler_.after(clientTimeout, [this] { giveUpOnClients(); });
}

void Locks::giveUpOnClients() {
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
        if (waiter->second.answer) {
            ++waiter;
            continue;
        }
        ledger_.endLockWait(waiter->second.environment, waiter->first);
        waiter = waiters_.erase(waiter);
    }
    schedule();
}

Locks::Ticket Locks::request(const EnvironmentId& environment, Uid actor, Answer answer) {
    const EnvironmentRecord& asking = ledger_.get(environment);
    if (asking.attachments.empty())
        fail(ErrorCode::NotAttached, "environment {} is attached to no device", environment);
    schedule();
    if (const auto ticket = abandoned(asking, actor)) {
        waiters_.at(*ticket).answer = std::move(answer);
        return *ticket;
    }
    requireRoom(actor);
    const bool waits = hasToWait(asking);
    const Ticket ticket = ledger_.newTicket();
    waiters_[ticket] = {environment, asking.sequence, actor, std::move(answer), waits};
    if (waits)
        ledger_.waitForLock(environment, {ticket, actor});
    return ticket;
}

std::optional<Locks::Ticket> Locks::abandoned(const EnvironmentRecord& environment,
                                              Uid actor) const {
    const auto found = std::find_if(waiters_.begin(), waiters_.end(), [&](const auto& waiting) {
        const Waiter& waiter = waiting.second;
        return !waiter.answer && waiter.environment == environment.id &&
               waiter.sequence == environment.sequence && waiter.actor == actor;
    });
    return found == waiters_.end() ? std::nullopt : std::optional(found->first);
}

// Returns whether an earlier request has or wants one of the devices.
bool Locks::hasToWait(const EnvironmentRecord& asking) const {
    std::set<DeviceUuid> taken = locked();
    for (const auto& [ticket, waiter] : waiters_) {
        if (const EnvironmentRecord* environment = environmentOf(waiter)) {
            for (const DeviceAttachment& attachment : environment->attachments)
                taken.insert(attachment.device.uuid);
        }
    }
    return std::any_of(
        asking.attachments.begin(), asking.attachments.end(),
        [&](const DeviceAttachment& attachment) { return taken.contains(attachment.device.uuid); });
}

void Locks::requireRoom(Uid actor) const {
    const auto count = std::count_if(waiters_.begin(), waiters_.end(), [&](const auto& waiting) {
        return waiting.second.actor == actor;
    });
    if (actor != 0 && static_cast<std::size_t>(count) >= caps::waitsPerUser)
        fail(ErrorCode::LimitsExceeded, "a user may wait for locks {} times at once",
             caps::waitsPerUser);
}

void Locks::cancel(Ticket ticket) {
    const auto node = waiters_.extract(ticket);
    if (node.empty())
        return;
    ledger_.endLockWait(node.mapped().environment, ticket);
    schedule(); // later requests may have waited only for this one
}

void Locks::onEvent(const Event& event) {
    const auto* device = std::get_if<DeviceChanged>(&event);
    const bool frees = device != nullptr && (device->field == DeviceField::LockedBy ||
                                             device->field == DeviceField::Attachments);
    const auto* removed = std::get_if<EnvironmentRemoved>(&event);
    if (removed != nullptr) { // its locks end, even if clients still have the descriptors
        for (const HeldLock& lock : removed->former->locks)
            descriptors_.close(lock.number);
    }
    if (!waiters_.empty() && (frees || removed != nullptr))
        schedule();
}

void Locks::schedule() {
    if (!std::exchange(scheduled_, true))
        scheduler_.soon([this] {
            scheduled_ = false;
            serve();
        });
}

std::set<DeviceUuid> Locks::locked() const {
    std::set<DeviceUuid> devices;
    for (const auto& [number, id] : ledger_.locks()) {
        for (const HeldLock& lock : ledger_.get(id).locks)
            devices.insert(lock.devices.begin(), lock.devices.end());
    }
    return devices;
}

// Returns null if the environment ended while the request waited, even if another environment has
// its id now.
const EnvironmentRecord* Locks::environmentOf(const Waiter& waiter) const {
    const EnvironmentRecord* environment = ledger_.find(waiter.environment);
    return environment != nullptr && environment->sequence == waiter.sequence ? environment
                                                                              : nullptr;
}

void Locks::serve() {
    std::set<DeviceUuid> taken = locked();
    std::vector<Ticket> served;
    for (auto& [ticket, waiter] : waiters_) {
        const EnvironmentRecord* environment = environmentOf(waiter);
        bool isFree = true;
        if (environment != nullptr) {
            for (const DeviceAttachment& attachment : environment->attachments)
                isFree = taken.insert(attachment.device.uuid).second && isFree;
        }
        if (environment == nullptr || (isFree && waiter.answer))
            served.push_back(ticket);
        else if (!std::exchange(waiter.recorded, true))
            ledger_.waitForLock(waiter.environment, {ticket, waiter.actor});
    }
    for (const Ticket ticket : served) {
        if (const auto node = waiters_.extract(ticket))
            answer(ticket, node.mapped());
    }
}

void Locks::answer(Ticket ticket, const Waiter& waiter) {
    if (!waiter.answer)
        return;
    try {
        if (environmentOf(waiter) == nullptr)
            fail(ErrorCode::NoSuchEnvironment, "environment {} ended while it waited for the lock",
                 waiter.environment);
        ledger_.lock(waiter.environment, ticket);
        try {
            const auto end = descriptors_.open(ticket);
            waiter.answer(end.get(), nullptr);
        } catch (const Error&) {
            ledger_.unlock(ticket);
            throw;
        }
    } catch (const Error& error) {
        waiter.answer(nullptr, &error);
    }
    ledger_.endLockWait(waiter.environment, ticket);
}

} // namespace genv::core
