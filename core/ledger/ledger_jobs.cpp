// SPDX-License-Identifier: LGPL-2.1-or-later
// Slurm's jobs in the ledger, and the devices that are reserved for Slurm.
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/ledger/ledger.hpp"
#include "core/sentences/sentences.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace genv::core {

namespace {

void dropAttachment(EnvironmentRecord& environment, const DeviceUuid& uuid) {
    std::erase_if(environment.attachments, [&](const DeviceAttachment& attachment) {
        return attachment.device.uuid == uuid;
    });
}

// Drops the devices that the job no longer has.
void keepOnly(EnvironmentRecord& environment, const std::vector<DeviceUuid>& devices) {
    std::erase_if(environment.attachments, [&](const DeviceAttachment& attachment) {
        return std::ranges::find(devices, attachment.device.uuid) == devices.end();
    });
}

} // namespace

void requireNoJob(const EnvironmentRecord& environment) {
    if (!environment.job)
        return;
    const SlurmJobId job = environment.job->id;
    const std::vector<DeviceIndex> devices = environment.deviceIndices();
    if (devices.empty())
        fail(ErrorCode::NotSupported, "environment {} belongs to Slurm job {}; scancel {} ends it",
             environment.id, job, job);
    fail(ErrorCode::NotSupported, "{} {} to Slurm job {}; scancel {} ends it", nameGpus(devices),
         devices.size() == 1 ? "belongs" : "belong", job, job);
}

void Ledger::reserve(const SlurmDevices& devices) {
    slurmDevices_ = devices;
    std::vector<DeviceIndex> changed;
    for (const auto& [index, known] : devices_.byIndex()) {
        const bool isReserved = slurmDevices_.contains(known.facts.uuid);
        if (std::exchange(devices_.at(index).reservedForSlurm, isReserved) != isReserved)
            changed.push_back(index);
    }
    for (const DeviceIndex index : changed)
        emit(DeviceChanged{index, DeviceField::ReservedFor});
}

void Ledger::insertDevice(TableDevice device) {
    device.reservedForSlurm = slurmDevices_.contains(device.facts.uuid);
    devices_.insert(std::move(device));
}

// Returns the environments that hold a device of the job and do not belong to jobs, without these
// devices.
std::vector<EnvironmentRecord> Ledger::evictedFor(const NewSlurmJob& wanted) const {
    std::vector<EnvironmentRecord> nexts;
    for (const DeviceUuid& uuid : wanted.devices) {
        for (const EnvironmentId& id : holdersOf(uuid)) {
            const EnvironmentRecord& holder = get(id);
            if (holder.job || holder.parent) // a child loses a device together with its parent
                continue;
            if (!wanted.evict)
                fail(ErrorCode::DeviceUnavailable,
                     "GPU {} is held by {} (environment {}); evict takes it away for job {}",
                     holder.attachmentTo(uuid)->device.index, escaped(holder.user), id, wanted.id);
            auto next = std::ranges::find(nexts, id, &EnvironmentRecord::id);
            if (next == nexts.end())
                next = nexts.insert(nexts.end(), holder);
            dropAttachment(*next, uuid);
        }
    }
    return nexts;
}

// If two documents name the same SLUID, the job that was indexed last has it.
void Ledger::indexJob(const EnvironmentRecord& environment, bool present) {
    if (!environment.job || !environment.job->sluid)
        return;
    const Sluid sluid = *environment.job->sluid;
    if (present)
        sluids_[sluid] = environment.id;
    else if (const auto found = sluids_.find(sluid);
             found != sluids_.end() && found->second == environment.id)
        sluids_.erase(found);
}

EnvironmentRecord Ledger::startedJob(const NewSlurmJob& wanted) {
    EnvironmentRecord environment;
    environment.id = environmentIdOf(wanted.id);
    environment.uid = wanted.uid;
    environment.user = wanted.user;
    environment.created = clock_.wallNow();
    environment.createdSinceBoot = clock_.bootNow();
    environment.began = environment.createdSinceBoot;
    environment.sequence = ++lastSequence_;
    environment.job = SlurmJob{wanted.id, wanted.sluid, std::nullopt, false};
    return environment;
}

// Jobs share devices with each other, as Slurm decides.
void Ledger::giveToJob(EnvironmentRecord& environment, const DeviceUuid& uuid) {
    if (environment.attachmentTo(uuid) != nullptr)
        return;
    const TableDevice* device = devices_.findUuid(uuid);
    if (device == nullptr)
        fail(ErrorCode::NoSuchDevice, "there is no device with the UUID \"{}\" on this machine",
             escaped(uuid));
    const bool isShared = std::ranges::any_of(holdersOf(uuid), [&](const EnvironmentId& holder) {
        return holder != environment.id && get(holder).job;
    });
    DeviceAttachment attachment;
    attachment.device = device->facts;
    attachment.overSubscribed = isShared;
    attachment.since = clock_.wallNow();
    attachment.began = clock_.bootNow();
    attachment.sequence = ++lastSequence_;
    environment.attachments.push_back(std::move(attachment));
}

void Ledger::startJob(const NewSlurmJob& wanted) {
    const EnvironmentId id = environmentIdOf(wanted.id);
    const EnvironmentRecord* existing = find(id);
    if (existing != nullptr && !existing->job && !wanted.evict)
        fail(ErrorCode::AlreadyExists,
             "environment {} exists and does not belong to a job; evict ends it", id);
    std::vector<EnvironmentRecord> nexts = evictedFor(wanted);
    std::erase_if(nexts, [&](const EnvironmentRecord& next) { return next.id == id; });
    // Slurm's job numbers started again, an epilog was lost before a requeue, or an earlier version
    // of genv let a user take the id.
    if (existing != nullptr && (!existing->job || existing->uid != wanted.uid ||
                                isOtherRun(*existing->job, wanted.sluid))) {
        nexts.push_back(*existing);
        nexts.back().end();
        existing = nullptr;
    }
    EnvironmentRecord next = existing != nullptr ? *existing : startedJob(wanted);
    keepOnly(next, wanted.devices);
    for (const DeviceUuid& uuid : wanted.devices)
        giveToJob(next, uuid);
    if (wanted.name)
        next.configuration.name = wanted.name;
    if (wanted.ends)
        next.job->ends = wanted.ends;
    if (wanted.sluid)
        next.job->sluid = wanted.sluid;
    next.job->isInferred = wanted.isInferred;
    if (existing != nullptr && next == *existing && nexts.empty())
        return;
    nexts.push_back(std::move(next));
    apply(std::move(nexts), {Reason::job(), 0, true});
}

void Ledger::setJobEnd(const EnvironmentId& id, WallTime end) {
    const EnvironmentRecord* environment = find(id);
    if (environment == nullptr || !environment->job || environment->job->ends == end)
        return;
    EnvironmentRecord next = *environment;
    next.job->ends = end;
    applyFact(std::move(next), Cause::fact(Reason::job()));
}

void Ledger::setJobSluid(SlurmJobId job, Sluid sluid) {
    const EnvironmentRecord* environment = findJob(job);
    if (environment == nullptr || environment->job->sluid)
        return;
    EnvironmentRecord next = *environment;
    next.job->sluid = sluid;
    applyFact(std::move(next), Cause::fact(Reason::job()));
}

} // namespace genv::core
