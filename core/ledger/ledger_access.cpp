// SPDX-License-Identifier: LGPL-2.1-or-later
// How the ledger calls its guard to open devices to the users who hold them, and to close them.
#include "core/ledger/ledger.hpp"

#include <algorithm>

namespace genv::core {

// Opens the devices that an environment is about to hold to its user.
void Ledger::openTo(const EnvironmentRecord& next) {
    if (guard_ == nullptr)
        return;
    for (const DeviceAttachment& attachment : next.attachments) {
        if (!isHeldBy(attachment.device.uuid, next.uid))
            guard_->open(next.uid, attachment.device.uuid);
    }
}

// Closes the devices of an environment that its user does not hold, or no longer holds. A device
// that the same user gets by one of the following changes is not closed in between.
void Ledger::closeUnheld(const EnvironmentRecord& environment,
                         std::span<const EnvironmentRecord> following) noexcept {
    if (guard_ == nullptr)
        return;
    for (const DeviceAttachment& attachment : environment.attachments) {
        const DeviceUuid& uuid = attachment.device.uuid;
        const bool isTakenOver = std::ranges::any_of(following, [&](const EnvironmentRecord& next) {
            return next.uid == environment.uid && next.attachmentTo(uuid) != nullptr;
        });
        if (!isTakenOver && !isHeldBy(uuid, environment.uid))
            guard_->close(environment.uid, uuid);
    }
}

} // namespace genv::core
