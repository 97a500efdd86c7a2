// SPDX-License-Identifier: LGPL-2.1-or-later
// Facts: processes exit, devices appear, change their index and get lost, documents are found at
// start. A fact is applied immediately; its document is written as soon as possible.
#include "core/ledger/ledger.hpp"
#include "core/ledger/membership.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace genv::core {

void Ledger::processExited(const ProcessIdentity& process) {
    if (const EnvironmentRecord* parked = environmentOfParked(process))
        exitedFrom(*parked, process);
    if (const EnvironmentRecord* environment = environmentOfRoot(process))
        exitedFrom(*environment, process);
}

void Ledger::exitedFrom(const EnvironmentRecord& environment, const ProcessIdentity& process) {
    EnvironmentRecord next = environment;
    std::erase_if(next.processes,
                  [&](const RootProcess& root) { return root.identity == process; });
    std::erase_if(next.jupyterKernels, [&](const JupyterKernel& jupyterKernel) {
        return jupyterKernel.process.identity == process;
    });
    if (next.parking)
        std::erase_if(next.parking->processes,
                      [&](const ParkedProcess& parked) { return parked.identity == process; });
    if (environment.isRegistered() || next.processes.empty())
        lastProcessWent(next, environment, false);
    const Cause cause = Cause::fact(environment.isAt(ParkingStep::Ending)
                                        ? Reason::stored(environment.parking->reason)
                                        : Reason::processExit());
    applyFact(std::move(next), cause);
}

void Ledger::jupyterKernelRestarted(const ProcessIdentity& exited, RootProcess process,
                                    JupyterKernelStarter starter) {
    const EnvironmentRecord* environment = environmentOfRoot(exited);
    if (environment == nullptr)
        return;
    EnvironmentRecord next = *environment;
    const auto jupyterKernel =
        std::find_if(next.jupyterKernels.begin(), next.jupyterKernels.end(),
                     [&](const JupyterKernel& known) { return known.process.identity == exited; });
    if (jupyterKernel == next.jupyterKernels.end())
        return;
    jupyterKernel->process = std::move(process);
    jupyterKernel->starter = std::move(starter);
    applyFact(std::move(next), Cause::fact(Reason::user()));
}

void Ledger::takeAway(const EnvironmentId& id, const DeviceUuid& device, const Cause& cause) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr || environment->attachmentTo(device) == nullptr)
        return;
    EnvironmentRecord next = *environment;
    std::erase_if(next.attachments, [&](const DeviceAttachment& attachment) {
        return attachment.device.uuid == device;
    });
    applyFact(std::move(next), cause);
}

void Ledger::end(const EnvironmentId& id, const Cause& cause) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr)
        return;
    EnvironmentRecord next = *environment;
    next.endWithParked(cause.reason.text());
    if (next != *environment)
        applyFact(std::move(next), cause);
}

void Ledger::endWait(std::uint64_t ticket, const Reason& why, const std::optional<Actor>& actor) {
    const auto found = waits_.find(ticket);
    if (found == waits_.end())
        return;
    const Wait ended = wait(ticket);
    EnvironmentRecord next = get(found->second);
    std::erase_if(next.waits, [&](const Wait& other) { return other.ticket == ticket; });
    if (ended.startsEnvironment && !ended.joined)
        next.end();
    const Cause ending =
        actor ? Cause::request(*actor, next.uid) : Cause{Reason::user(), ended.actor};
    applyFact(std::move(next), ending, std::pair{ticket, Cause{why, ending.actor}});
}

void Ledger::noteFirst(std::uint64_t ticket, const std::optional<BootTime>& since) {
    EnvironmentRecord next = get(waits_.at(ticket));
    std::ranges::find(next.waits, ticket, &Wait::ticket)->firstSince = since;
    applyFact(std::move(next), Cause::fact(Reason::user()));
}

void Ledger::holdBack(std::uint64_t ticket, bool isHeld) {
    EnvironmentRecord next = get(waits_.at(ticket));
    const auto wait = std::ranges::find(next.waits, ticket, &Wait::ticket);
    if (wait->heldSince.has_value() == isHeld)
        return;
    const BootTime now = clock_.bootNow();
    if (isHeld)
        wait->heldSince = now;
    else
        wait->heldFor += std::max(now - *std::exchange(wait->heldSince, std::nullopt),
                                  std::chrono::microseconds{0});
    applyFact(std::move(next), Cause::fact(Reason::user()));
}

void Ledger::unlock(std::uint64_t number) {
    const auto found = locks_.find(number);
    if (found == locks_.end())
        return;
    EnvironmentRecord next = get(found->second);
    std::erase_if(next.locks, [&](const HeldLock& lock) { return lock.number == number; });
    applyFact(std::move(next), Cause::fact(Reason::user()));
}

void Ledger::waitForLock(const EnvironmentId& id, const LockWait& wait) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr)
        return;
    EnvironmentRecord next = *environment;
    next.lockWaits.push_back(wait);
    applyFact(std::move(next), Cause::fact(Reason::user()));
}

void Ledger::endLockWait(const EnvironmentId& id, std::uint64_t ticket) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr)
        return;
    EnvironmentRecord next = *environment;
    if (std::erase_if(next.lockWaits, [&](const LockWait& wait) { return wait.ticket == ticket; }) >
        0)
        applyFact(std::move(next), Cause::fact(Reason::user()));
}

void Ledger::driverFailed() {
    for (const auto& [index, device] : devices_.byIndex()) {
        if (device.health.state == Health::State::Ok)
            setHealth(index, {Health::State::Stale, 0});
    }
}

void Ledger::observed(const Observation& observation) {
    if (!observation.noDriver.empty()) {
        driverFailed(); // a missing driver counts as a failed one, so environments keep their
                        // devices
        return;
    }
    std::unordered_map<DeviceUuid, DeviceIndex> present;
    std::set<DeviceIndex> taken;
    std::vector<const DeviceSample*> samples;
    for (const DeviceSample& sample : observation.devices) {
        // If the driver reports a device or an index twice, the second one is ignored.
        if (!present.contains(sample.facts.uuid) && taken.insert(sample.facts.index).second) {
            present.emplace(sample.facts.uuid, sample.facts.index);
            samples.push_back(&sample);
        }
    }
    std::vector<DeviceUuid> lost;
    for (const auto& [uuid, holders] : holders_) {
        if (!present.contains(uuid))
            lost.push_back(uuid);
    }
    std::for_each(lost.begin(), lost.end(), [this](const DeviceUuid& uuid) { detachLost(uuid); });

    std::vector<DeviceIndex> gone;
    for (const auto& [index, device] : devices_.byIndex()) {
        const auto now = present.find(device.facts.uuid);
        if (now == present.end() || now->second != index)
            gone.push_back(index);
    }
    // Devices that move or vanish are removed first, so that two devices that swap indices do not
    // collide.
    std::for_each(gone.begin(), gone.end(), [this](DeviceIndex index) { removeDevice(index); });
    for (const DeviceSample* sample : samples) {
        if (devices_.findUuid(sample->facts.uuid) != nullptr)
            updateDevice(*sample, observation.takenAt);
        else
            placeDevice(*sample, observation.takenAt);
        judgeMemory(*sample, observation.started);
        if (sample->health.state == Health::State::Lost)
            detachLost(sample->facts.uuid);
    }
    markOccupied(observation);
}

void Ledger::updateDevice(const DeviceSample& sample, WallTime takenAt) {
    const DeviceIndex index = sample.facts.index;
    TableDevice& device = devices_.at(index);
    device.reading = sample.reading;
    device.sampledAt = takenAt;
    const bool isElsewhere =
        std::exchange(device.pciAddress, sample.pciAddress) != sample.pciAddress;
    const DeviceFacts before = std::exchange(device.facts, sample.facts);
    if (before.model != sample.facts.model)
        emit(DeviceChanged{index, DeviceField::Model});
    if (before.totalMemory != sample.facts.totalMemory)
        emit(DeviceChanged{index, DeviceField::TotalMemory});
    if (isElsewhere)
        emit(DeviceChanged{index, DeviceField::PciAddress});
    if (before != sample.facts)
        rememberFacts(sample.facts);
    setHealth(index, sample.health);
}

void Ledger::placeDevice(const DeviceSample& sample, WallTime takenAt) {
    insertDevice({sample.facts, sample.health, sample.reading, takenAt, {}, false});
    devices_.at(sample.facts.index).pciAddress = sample.pciAddress;
    for (const EnvironmentId& holder : holdersOf(sample.facts.uuid)) {
        const EnvironmentRecord& environment = get(holder);
        devices_.addHolder(sample.facts.uuid,
                           holderOf(environment, *environment.attachmentTo(sample.facts.uuid)));
    }
    emit(DeviceAdded{sample.facts.index});
    rememberFacts(sample.facts);
}

void Ledger::removeDevice(DeviceIndex index) {
    const DeviceFacts facts = devices_.at(index).facts;
    devices_.remove(index);
    emit(DeviceRemoved{index, facts});
}

void Ledger::rememberFacts(const DeviceFacts& facts) {
    for (const EnvironmentId& holder : holdersOf(facts.uuid)) {
        EnvironmentRecord next = get(holder);
        bool changed = false;
        for (DeviceAttachment& attachment : next.attachments) {
            if (attachment.device.uuid == facts.uuid)
                changed = std::exchange(attachment.device, facts) != facts || changed;
        }
        if (changed) // nothing is attached or detached, so no event contains the reason
            applyFact(std::move(next), Cause::fact(Reason::deviceLost()));
    }
}

void Ledger::detachLost(const DeviceUuid& uuid) {
    for (const EnvironmentId& holder :
         holdersOf(uuid)) // a child may already be gone because of its parent
        takeAway(holder, uuid, Cause::fact(Reason::deviceLost()));
}

void Ledger::setHealth(DeviceIndex index, Health health) {
    if (std::exchange(devices_.at(index).health, health) != health)
        emit(DeviceChanged{index, DeviceField::Health});
}

void Ledger::judgeMemory(const DeviceSample& sample, BootTime began) {
    if (devices_.at(sample.facts.index).unaccounted.observed(sample, began))
        emit(DeviceChanged{sample.facts.index, DeviceField::OutsideUse});
}

void Ledger::markOccupied(const Observation& observation) {
    std::unordered_map<DeviceUuid, Occupant> occupied;
    std::unordered_map<DeviceUuid, std::map<EnvironmentId, Occupant>> users;
    const EnvironmentLookup lookup = lookupIn(*this);
    for (const ObservedProcess& process : observation.processes) {
        if (isParked(process.facts.identity, observation.started))
            continue; // it has moved to host memory since
        const EnvironmentRecord* environment = environmentOf(lookup, process);
        const Occupant occupant{process.facts.identity.pid, process.facts.uids.real};
        for (const ComputeUse& use : process.uses) {
            const EnvironmentRecord* user = holderFor(environment, use.device);
            if (user == nullptr)
                occupied.try_emplace(use.device, occupant);
            else
                users[use.device].try_emplace(user->id, occupant);
        }
    }
    for (const auto& [index, known] : devices_.byIndex()) {
        TableDevice& device = devices_.at(index);
        const auto foreign = occupied.find(device.facts.uuid);
        if (std::exchange(device.occupied, foreign != occupied.end()) !=
            (foreign != occupied.end()))
            emit(DeviceChanged{index, DeviceField::OutsideUse});
        device.occupant = device.occupied ? foreign->second : Occupant{};
        device.users = std::move(users[device.facts.uuid]);
    }
}

// If a process still uses the device, the next user of the device is warned, even before the next
// sample.
void Ledger::markDetached(const EnvironmentId& id, DeviceIndex index, bool isParked) {
    TableDevice& device = devices_.at(index);
    device.unaccounted.released(clock_.bootNow());
    const auto user = device.users.find(id);
    if (user == device.users.end())
        return;
    if (!isParked) {
        device.occupied = true;
        device.occupant = user->second;
    }
    device.users.erase(user);
}

} // namespace genv::core
