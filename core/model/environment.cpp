// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/model/environment.hpp"

#include <algorithm>

namespace genv::core {

bool EnvironmentRecord::isRegistered() const {
    return job || !jupyterKernels.empty() ||
           std::any_of(processes.begin(), processes.end(),
                       [](const RootProcess& root) { return !root.lingers; });
}

bool EnvironmentRecord::isAlive() const {
    return isRegistered() || hasParked() ||
           (!attachments.empty() && (pendingEnd || !processes.empty()));
}

bool EnvironmentRecord::isLingering() const {
    return isAlive() && !isRegistered() && !pendingEnd;
}

void EnvironmentRecord::end() {
    processes.clear();
    jupyterKernels.clear();
    pendingEnd.reset();
    parking.reset();
    job.reset();
}

void EnvironmentRecord::endWithParked(const std::string& reason) {
    if (!hasParked()) {
        end();
        return;
    }
    processes.clear();
    jupyterKernels.clear();
    attachments.clear();
    waits.clear();
    locks.clear();
    lockWaits.clear();
    pendingEnd.reset();
    lease.reset();
    parking->devices.clear();
    parking->lease.reset();
    parking->step = ParkingStep::Ending;
    parking->reason = reason;
}

bool EnvironmentRecord::lends(const DeviceAttachment& attachment) const {
    return configuration.preemptible != Preemptible::No && !attachment.share &&
           !attachment.overSubscribed && !job && !parent;
}

const DeviceAttachment* EnvironmentRecord::attachmentTo(const DeviceUuid& uuid) const {
    const auto found =
        std::find_if(attachments.begin(), attachments.end(),
                     [&](const DeviceAttachment& a) { return a.device.uuid == uuid; });
    return found == attachments.end() ? nullptr : &*found;
}

std::vector<DeviceIndex> EnvironmentRecord::deviceIndices() const {
    std::vector<DeviceIndex> indices;
    indices.reserve(attachments.size());
    for (const DeviceAttachment& attachment : attachments)
        indices.push_back(attachment.device.index);
    std::sort(indices.begin(), indices.end());
    return indices;
}

bool EnvironmentRecord::isCounted() const {
    return !attachments.empty() || std::none_of(waits.begin(), waits.end(), [](const Wait& wait) {
        return wait.startsEnvironment && wait.holdForQuota;
    });
}

bool EnvironmentRecord::awaitsResume() const {
    return isAt(ParkingStep::Parked) && std::ranges::any_of(waits, &Wait::resumes);
}

bool EnvironmentRecord::isWaitingToStart() const {
    return attachments.empty() && std::any_of(waits.begin(), waits.end(), [](const Wait& wait) {
               return wait.startsEnvironment;
           });
}

std::optional<Lease> EnvironmentRecord::firstLease() const {
    std::optional<Lease> first = lease;
    for (const DeviceAttachment& attachment : attachments) {
        if (attachment.lease && (!first || attachment.lease->until < first->until))
            first = attachment.lease;
    }
    return first;
}

std::optional<WallTime> EnvironmentRecord::jobEnd() const {
    return job ? job->ends : std::nullopt;
}

std::optional<BootTime> EnvironmentRecord::endOf(const DeviceAttachment& attachment) const {
    if (!attachment.lease || !lease)
        return attachment.lease ? std::optional(attachment.lease->until)
               : lease          ? std::optional(lease->until)
                                : std::nullopt;
    return std::min(attachment.lease->until, lease->until);
}

std::vector<std::pair<DeviceIndex, std::optional<BootTime>>> EnvironmentRecord::deviceEnds() const {
    std::vector<std::pair<DeviceIndex, std::optional<BootTime>>> ends;
    ends.reserve(attachments.size());
    for (const DeviceAttachment& attachment : attachments)
        ends.emplace_back(attachment.device.index, endOf(attachment));
    std::sort(ends.begin(), ends.end());
    return ends;
}

bool EnvironmentRecord::hasLocked(const DeviceUuid& uuid) const {
    return std::any_of(locks.begin(), locks.end(), [&](const HeldLock& lock) {
        return std::find(lock.devices.begin(), lock.devices.end(), uuid) != lock.devices.end();
    });
}

} // namespace genv::core
