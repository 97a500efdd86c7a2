// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/devices/idleness.hpp"

#include "core/ledger/ledger_view.hpp"
#include "core/ledger/membership.hpp"

#include <algorithm>

namespace genv::core {

namespace {

// A process in a job's cgroup, such as a container of the job, keeps the job from being idle,
// whatever its user.
const EnvironmentRecord* userOf(const EnvironmentLookup& lookup, const ObservedProcess& process) {
    const EnvironmentRecord* environment = environmentOf(lookup, process);
    if (environment != nullptr || !process.slurm)
        return environment;
    return lookup.byJob(process.slurm->job);
}

} // namespace

std::set<Idleness::Key> Idleness::usedIn(const LedgerView& ledger, const Observation& observation) {
    std::set<DeviceUuid> working;
    for (const DeviceSample& device : observation.devices) {
        if (device.reading.utilizationPercent.value_or(1) > 0)
            working.insert(device.facts.uuid);
    }
    std::set<Key> used;
    const EnvironmentLookup lookup = lookupIn(ledger);
    for (const ObservedProcess& process : observation.processes) {
        const EnvironmentRecord* environment = userOf(lookup, process);
        for (const ComputeUse& use : process.uses) {
            if (environment == nullptr || !working.contains(use.device))
                continue;
            used.emplace(environment->id, use.device);
            if (environment->parent)
                used.emplace(*environment->parent, use.device);
        }
    }
    return used;
}

void Idleness::observed(const LedgerView& ledger, const Observation& observation) {
    const std::set<Key> used = usedIn(ledger, observation);
    std::map<Key, Use> next;
    for (const auto& [sequence, environment] : ledger.environments()) {
        for (const DeviceAttachment& attachment : environment.attachments) {
            const Key key{environment.id, attachment.device.uuid};
            const auto known = uses_.find(key);
            const bool isNew =
                known == uses_.end() || known->second.attachment != attachment.sequence;
            const bool isUsed = used.contains(key);
            Use use = isNew ? Use{attachment.sequence, {}, {}, Reported::Idle} : known->second;
            if (isNew && !hasLooked_)
                use.reported = Reported::Nothing;
            if (isNew || isUsed) {
                use.last = observation.started;
                // The sample may be older than the attachment, but the use cannot be.
                use.lastWall = std::max(observation.takenAt, attachment.since);
            }
            emitChange(environment, attachment, isUsed, observation.started, use);
            next.emplace(key, use);
        }
    }
    uses_ = std::move(next);
    hasLooked_ = true;
}

void Idleness::emitChange(const EnvironmentRecord& environment, const DeviceAttachment& attachment,
                          bool used, BootTime now, Use& use) const {
    if (used && use.reported != Reported::InUse) {
        use.reported = Reported::InUse;
        if (events_ != nullptr)
            events_->emit(
                AttachmentInUse{environment.id, environment.uid, attachment.device, use.lastWall});
    } else if (!used && use.reported != Reported::Idle && now - use.last >= idleAfter) {
        use.reported = Reported::Idle;
        if (events_ != nullptr)
            events_->emit(
                AttachmentIdle{environment.id, environment.uid, attachment.device, use.lastWall});
    }
}

std::chrono::milliseconds Idleness::of(const EnvironmentId& environment, const DeviceUuid& device,
                                       BootTime now) const {
    const auto known = uses_.find({environment, device});
    if (known == uses_.end() || now < known->second.last)
        return std::chrono::milliseconds{0};
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - known->second.last);
}

} // namespace genv::core
