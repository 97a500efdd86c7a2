// SPDX-License-Identifier: LGPL-2.1-or-later
// How changes are applied: written, committed, reported. The changes themselves are in
// ledger_requests.cpp and ledger_facts.cpp.
#include "core/ledger/ledger.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/state/state_schema.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace genv::core {

namespace {

// Locks cover only held devices, so detached devices are removed from them.
void unlockDetached(EnvironmentRecord& environment) {
    for (HeldLock& lock : environment.locks) {
        std::erase_if(lock.devices, [&](const DeviceUuid& device) {
            return environment.attachmentTo(device) == nullptr;
        });
    }
    std::erase_if(environment.locks, [](const HeldLock& lock) { return lock.devices.empty(); });
}

// Returns whether `next` holds less than `before` under the same id.
bool holdsLess(const EnvironmentRecord& next, const EnvironmentRecord& before) {
    return std::any_of(before.attachments.begin(), before.attachments.end(),
                       [&](const DeviceAttachment& attachment) {
                           const DeviceAttachment* kept =
                               next.sequence == before.sequence
                                   ? next.attachmentTo(attachment.device.uuid)
                                   : nullptr;
                           return kept == nullptr || !next.isAlive();
                       });
}

template <typename Table>
void indexNumber(Table& table, std::uint64_t number, const EnvironmentId& id, bool present) {
    if (present)
        table[number] = id;
    else
        table.erase(number);
}

} // namespace

Ledger::Ledger(Store& store, const Clock& clock, const EventHub& events)
    : store_(store), clock_(clock), events_(events) {}

void Ledger::write(const EnvironmentRecord& next) {
    const EnvironmentRecord* before = find(next.id);
    if (detaching_ && before != nullptr && holdsLess(next, *before))
        detaching_(*before);
    if (next.isAlive())
        store_.write(next.id, encodeState(next));
    else
        store_.remove(next.id);
    dirty_.erase(next.id);
}

void Ledger::writeAllOrNone(const std::vector<EnvironmentRecord>& nexts) {
    std::size_t written = 0;
    const auto isReplaced = [&](std::size_t index) { // by a later one with the same id
        return std::any_of(
            nexts.begin() + static_cast<std::ptrdiff_t>(index) + 1, nexts.end(),
            [&](const EnvironmentRecord& later) { return later.id == nexts[index].id; });
    };
    try {
        for (; written < nexts.size(); ++written) {
            if (!isReplaced(written))
                write(nexts[written]);
        }
    } catch (const Error& error) {
        // Nothing is committed yet, so a retry overwrites the new documents with the old state.
        for (std::size_t i = 0; i < written; ++i)
            dirty_.insert(nexts[i].id);
        if (!retryWrites() && unwritten_)
            unwritten_(error.what());
        throw;
    }
}

void Ledger::apply(std::vector<EnvironmentRecord> nexts, const Cause& cause,
                   const std::optional<EnvironmentRecord>& departed) {
    if (departed)
        nexts.insert(nexts.begin(), *departed);
    std::vector<EnvironmentRecord> children = childrenAfter(nexts);
    const std::size_t childCount = children.size();
    nexts.insert(nexts.begin(), std::make_move_iterator(children.begin()),
                 std::make_move_iterator(children.end()));
    std::for_each(nexts.begin(), nexts.end(), unlockDetached);
    try {
        for (const EnvironmentRecord& next : nexts)
            openTo(next);
        writeAllOrNone(nexts);
    } catch (const Error&) {
        std::for_each(nexts.begin(), nexts.end(),
                      [this](const EnvironmentRecord& next) { closeUnheld(next); });
        throw;
    }
    if (departed)
        markTaken(*departed, nexts.back());
    for (std::size_t i = 0; i < nexts.size(); ++i) {
        const Cause why = i < childCount ? causeFor(nexts[i], cause) : cause;
        commit(std::move(nexts[i]), why, std::nullopt, std::span(nexts).subspan(i + 1));
    }
}

// A fact opens no device. It attaches none, except those of a restored environment, and Isolation
// grants these as soon as the driver names their nodes.
void Ledger::applyFact(EnvironmentRecord next, const Cause& cause, const EndedWait& wait,
                       const EnvironmentRecord* written) {
    std::vector<EnvironmentRecord> nexts{std::move(next)};
    for (EnvironmentRecord& child : childrenAfter(nexts)) {
        unlockDetached(child);
        writeFact(child);
        const Cause why = causeFor(child, cause);
        commit(std::move(child), why, std::nullopt, nexts);
    }
    next = std::move(nexts.front());
    unlockDetached(next);
    if (written == nullptr || next != *written)
        writeFact(next);
    commit(std::move(next), cause, wait);
}

void Ledger::writeFact(const EnvironmentRecord& next) {
    try {
        write(next);
    } catch (const Error& error) {
        dirty_.insert(next.id);
        if (unwritten_)
            unwritten_(error.what());
    }
}

bool Ledger::retryWrites() {
    const std::set<EnvironmentId> ids = dirty_;
    for (const EnvironmentId& id : ids) {
        try {
            const EnvironmentRecord* environment = find(id);
            if (environment != nullptr)
                write(*environment);
            else
                store_.remove(id);
            dirty_.erase(id);
        } catch (const Error&) {
            // It stays in dirty_ for the next attempt.
        }
    }
    return dirty_.empty();
}

void Ledger::storeWasLost() {
    for (const auto& [sequence, environment] : environments_)
        dirty_.insert(environment.id);
}

void Ledger::commit(EnvironmentRecord next, const Cause& cause, const EndedWait& wait,
                    std::span<const EnvironmentRecord> following) {
    EnvironmentRecord before;
    before.id = next.id;
    before.uid = next.uid;
    // Updated in place, since the address of an environment is stable.
    const auto known = byId_.find(next.id);
    EnvironmentRecord* stored = known == byId_.end() ? nullptr : known->second;
    if (stored != nullptr) {
        index(*stored, false);
        before = std::move(*stored);
    }
    EnvironmentRecord ended;
    ended.id = next.id;
    ended.uid = next.uid;
    const EnvironmentRecord* after = &ended;
    if (next.isAlive()) {
        if (stored == nullptr)
            stored = &environments_[next.sequence];
        *stored = std::move(next);
        index(*stored, true);
        after = stored;
    } else if (stored != nullptr) {
        environments_.erase(before.sequence);
    }
    closeUnheld(before, following);
    emitDifference(before, *after, cause, wait);
}

void Ledger::index(EnvironmentRecord& environment, bool present) {
    OfUser& user = users_[environment.uid];
    const std::size_t processes = environment.processes.size() + environment.jupyterKernels.size();
    if (present) {
        byId_[environment.id] = &environment;
        user.environments.insert(environment.sequence);
        user.processes += processes;
        user.jobs += environment.job ? 1U : 0U;
    } else {
        byId_.erase(environment.id);
        user.environments.erase(environment.sequence);
        user.processes -= processes;
        user.jobs -= environment.job ? 1U : 0U;
        if (user.environments.empty())
            users_.erase(environment.uid);
    }

    indexChild(environment, present);
    indexJob(environment, present);
    indexProcesses(environment, present);
    for (const Wait& wait : environment.waits)
        indexNumber(waits_, wait.ticket, environment.id, present);
    for (const HeldLock& lock : environment.locks)
        indexNumber(locks_, lock.number, environment.id, present);

    for (const DeviceAttachment& attachment : environment.attachments) {
        const DeviceUuid& uuid = attachment.device.uuid;
        if (present) {
            holders_[uuid].insert(environment.id);
            devices_.addHolder(uuid, holderOf(environment, attachment));
        } else {
            holders_[uuid].erase(environment.id);
            if (holders_[uuid].empty())
                holders_.erase(uuid);
            devices_.removeHolder(uuid, environment.id);
        }
    }
}

void Ledger::indexProcesses(const EnvironmentRecord& environment, bool present) {
    const auto indexRoot = [&](const RootProcess& root) {
        if (present)
            roots_[root.identity] = environment.id;
        else
            roots_.erase(root.identity);
    };
    std::for_each(environment.processes.begin(), environment.processes.end(), indexRoot);
    for (const JupyterKernel& jupyterKernel : environment.jupyterKernels)
        indexRoot(jupyterKernel.process);
    indexParked(environment, present);

    if (environment.pendingEnd) {
        for (const ProcessIdentity& member : environment.pendingEnd->members) {
            if (present)
                formers_[member] = environment.id;
            else if (const auto former = formers_.find(member);
                     former != formers_.end() && former->second == environment.id)
                formers_.erase(former);
        }
    }
}

void Ledger::emitDifference(const EnvironmentRecord& before, const EnvironmentRecord& after,
                            const Cause& cause, const EndedWait& wait) {
    const bool added = !before.isAlive();
    const bool removed = !after.isAlive();
    if (added)
        emit(EnvironmentAdded{after.id, after.uid, cause});
    emitAttachments(before, after, cause);
    emitLocks(before, after);
    emitWaits(before, after, cause, wait);
    if (removed)
        emit(EnvironmentRemoved{after.id, after.uid, cause, &before});
    if (added || removed)
        return;
    if (after.pendingEnd && !before.pendingEnd)
        emit(EnvironmentEnding{after.id, after.uid});
    const auto emitField = [&](bool differs, EnvironmentField field) {
        if (differs)
            emit(EnvironmentChanged{after.id, field});
    };
    emitField(before.configuration.name != after.configuration.name, EnvironmentField::Name);
    emitField(before.configuration.gpus != after.configuration.gpus, EnvironmentField::Gpus);
    emitField(before.configuration.gpuMemory != after.configuration.gpuMemory,
              EnvironmentField::GpuMemory);
    emitField(before.configuration.overSubscribable != after.configuration.overSubscribable,
              EnvironmentField::OverSubscribable);
    emitField(before.configuration.preemptible != after.configuration.preemptible ||
                  before.loanFailed != after.loanFailed,
              EnvironmentField::Preemptible);
    const bool areParkedListed = before.hasParked() != after.hasParked() ||
                                 (after.hasParked() && before.isLingering() != after.isLingering());
    emitField(before.processes != after.processes || areParkedListed, EnvironmentField::Processes);
    emitField(before.jupyterKernels != after.jupyterKernels, EnvironmentField::JupyterKernels);
    emitField(before.deviceIndices() != after.deviceIndices(), EnvironmentField::Devices);
    emitField(before.deviceEnds() != after.deviceEnds() || before.jobEnd() != after.jobEnd(),
              EnvironmentField::Attached);
    emitField(before.firstLease() != after.firstLease() || before.jobEnd() != after.jobEnd(),
              EnvironmentField::Expires);
    emitField(before.isLingering() != after.isLingering(), EnvironmentField::Lingering);
    emitField(before.parking != after.parking, EnvironmentField::Parking);
    emitField(before.parkingProblem != after.parkingProblem, EnvironmentField::ParkingProblem);
}

// Grants are reported by the queue, which knows their details.
void Ledger::emitWaits(const EnvironmentRecord& before, const EnvironmentRecord& after,
                       const Cause& cause, const EndedWait& ended) {
    if (before.waits == after.waits)
        return;
    const auto isIn = [](const EnvironmentRecord& environment, const Wait& wait) {
        return std::any_of(environment.waits.begin(), environment.waits.end(),
                           [&](const Wait& other) { return other.ticket == wait.ticket; });
    };
    for (const Wait& wait : after.waits) {
        if (!isIn(before, wait))
            emit(WaitStarted{after.id, after.uid, wait.actor, missing(wait.request, after),
                             wait.since});
    }
    for (const Wait& wait : before.waits) {
        const bool byItself = ended && ended->first == wait.ticket;
        if (isIn(after, wait) || !(byItself || after.pendingEnd || !after.isAlive()))
            continue;
        const Cause& why = byItself ? ended->second : cause;
        emit(WaitEnded{after.id, after.uid, why, missing(wait.request, before), wait.since,
                       std::max(clock_.wallNow() - wait.since, std::chrono::microseconds{0}),
                       &before});
    }
    emit(QueueChanged{});
}

void Ledger::emitLocks(const EnvironmentRecord& before, const EnvironmentRecord& after) {
    if (before.locks == after.locks)
        return;
    std::set<DeviceUuid> devices;
    for (const auto* locks : {&before.locks, &after.locks}) {
        for (const HeldLock& lock : *locks)
            devices.insert(lock.devices.begin(), lock.devices.end());
    }
    for (const DeviceUuid& uuid : devices) {
        const TableDevice* device = devices_.findUuid(uuid);
        if (device != nullptr && before.hasLocked(uuid) != after.hasLocked(uuid))
            emit(DeviceChanged{device->facts.index, DeviceField::LockedBy});
    }
}

void Ledger::emitAttachments(const EnvironmentRecord& before, const EnvironmentRecord& after,
                             const Cause& cause) {
    const auto emitDevice = [&](const DeviceAttachment& attachment) {
        if (const TableDevice* device = devices_.findUuid(attachment.device.uuid))
            emit(DeviceChanged{device->facts.index, DeviceField::Attachments});
    };
    for (const DeviceAttachment& attachment : before.attachments) {
        if (after.attachmentTo(attachment.device.uuid) == nullptr) {
            if (const TableDevice* device = devices_.findUuid(attachment.device.uuid))
                markDetached(after.id, device->facts.index, cause.reason == Reason::parked());
            emit(Detached{after.id, after.uid, attachment, cause, &before});
            emitDevice(attachment);
        }
    }
    for (const DeviceAttachment& attachment : after.attachments) {
        if (before.attachmentTo(attachment.device.uuid) == nullptr) {
            emit(Attached{after.id, after.uid, attachment, cause});
            emitDevice(attachment);
        }
    }
}

} // namespace genv::core
