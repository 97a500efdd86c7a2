// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/locks.hpp"

#include "core/caps.hpp"

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

Locks::Ticket Locks::request(const EnvironmentId& environment, Uid actor, Answer answer) {
    const Environment& asking = ledger_.get(environment);
    if (asking.attachments.empty())
        fail(ErrorCode::NotAttached, "environment {} is attached to no device", environment);
    const auto count = std::count_if(waiters_.begin(), waiters_.end(), [&](const auto& waiting) {
        return waiting.second.actor == actor;
    });
    if (actor != 0 && static_cast<std::size_t>(count) >= caps::waitsPerUser)
        fail(ErrorCode::LimitsExceeded, "a user may wait for locks {} times at once",
             caps::waitsPerUser);
    const Ticket ticket = ++lastTicket_;
    waiters_.emplace(ticket, Waiter{environment, asking.sequence, actor, std::move(answer)});
    schedule();
    return ticket;
}

void Locks::cancel(Ticket ticket) {
    if (waiters_.erase(ticket) > 0)
        schedule(); // whoever came later may have waited for this one only
}

void Locks::onEvent(const Event& event) {
    const auto* device = std::get_if<DeviceChanged>(&event);
    const bool frees = device != nullptr && (device->field == DeviceField::LockedBy ||
                                             device->field == DeviceField::Attachments);
    const auto* removed = std::get_if<EnvironmentRemoved>(&event);
    if (removed != nullptr) { // its locks are nobody's, whoever has the descriptors
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

void Locks::serve() {
    std::set<DeviceUuid> taken = locked();
    std::vector<Waiter> served;
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
        const Environment* environment = ledger_.find(waiter->second.environment);
        bool isFree = true;
        if (environment != nullptr) {
            for (const Attachment& attachment : environment->attachments)
                isFree = taken.insert(attachment.device.uuid).second && isFree;
        }
        if (isFree) {
            served.push_back(std::move(waiter->second));
            waiter = waiters_.erase(waiter);
        } else {
            ++waiter;
        }
    }
    for (const Waiter& waiter : served)
        answer(waiter);
}

void Locks::answer(const Waiter& waiter) {
    try {
        const Environment* environment = ledger_.find(waiter.environment);
        if (environment == nullptr || environment->sequence != waiter.sequence)
            fail(ErrorCode::NoSuchEnvironment, "environment {} ended while it waited for the lock",
                 waiter.environment);
        const std::uint64_t number = ledger_.lock(waiter.environment);
        try {
            const auto end = descriptors_.open(number);
            waiter.answer(end.get(), nullptr);
        } catch (const Error&) {
            ledger_.unlock(number);
            throw;
        }
    } catch (const Error& error) {
        waiter.answer(nullptr, &error);
    }
}

} // namespace genv::core
