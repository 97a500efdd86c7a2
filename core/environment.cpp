// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/environment.hpp"

#include <algorithm>

namespace genv::core {

bool Environment::isRegistered() const {
    return job || !kernels.empty() ||
           std::any_of(processes.begin(), processes.end(),
                       [](const RootProcess& root) { return !root.lingers; });
}

bool Environment::isAlive() const {
    return isRegistered() || (!attachments.empty() && (pendingEnd || !processes.empty()));
}

bool Environment::isLingering() const {
    return isAlive() && !isRegistered() && !pendingEnd;
}

void Environment::end() {
    processes.clear();
    kernels.clear();
    pendingEnd.reset();
    job.reset();
}

const Attachment* Environment::attachmentTo(const DeviceUuid& uuid) const {
    const auto found = std::find_if(attachments.begin(), attachments.end(),
                                    [&](const Attachment& a) { return a.device.uuid == uuid; });
    return found == attachments.end() ? nullptr : &*found;
}

std::vector<DeviceIndex> Environment::deviceIndices() const {
    std::vector<DeviceIndex> indices;
    indices.reserve(attachments.size());
    for (const Attachment& attachment : attachments)
        indices.push_back(attachment.device.index);
    std::sort(indices.begin(), indices.end());
    return indices;
}

bool Environment::isCounted() const {
    return !attachments.empty() || std::none_of(waits.begin(), waits.end(), [](const Wait& wait) {
        return wait.startsEnvironment && wait.holdForQuota;
    });
}

bool Environment::isWaitingToStart() const {
    return attachments.empty() && std::any_of(waits.begin(), waits.end(), [](const Wait& wait) {
               return wait.startsEnvironment;
           });
}

std::optional<Lease> Environment::firstLease() const {
    std::optional<Lease> first = lease;
    for (const Attachment& attachment : attachments) {
        if (attachment.lease && (!first || attachment.lease->until < first->until))
            first = attachment.lease;
    }
    return first;
}

std::optional<WallTime> Environment::jobEnd() const {
    return job ? job->ends : std::nullopt;
}

std::optional<BootTime> Environment::endOf(const Attachment& attachment) const {
    if (!attachment.lease || !lease)
        return attachment.lease ? std::optional(attachment.lease->until)
               : lease          ? std::optional(lease->until)
                                : std::nullopt;
    return std::min(attachment.lease->until, lease->until);
}

std::vector<std::pair<DeviceIndex, std::optional<BootTime>>> Environment::deviceEnds() const {
    std::vector<std::pair<DeviceIndex, std::optional<BootTime>>> ends;
    ends.reserve(attachments.size());
    for (const Attachment& attachment : attachments)
        ends.emplace_back(attachment.device.index, endOf(attachment));
    std::sort(ends.begin(), ends.end());
    return ends;
}

bool Environment::hasLocked(const DeviceUuid& uuid) const {
    return std::any_of(locks.begin(), locks.end(), [&](const HeldLock& lock) {
        return std::find(lock.devices.begin(), lock.devices.end(), uuid) != lock.devices.end();
    });
}

} // namespace genv::core
