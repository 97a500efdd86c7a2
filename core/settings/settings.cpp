// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/settings/settings.hpp"

#include <algorithm>

namespace genv::core {

std::string toString(IsolationMode mode) {
    switch (mode) {
    case IsolationMode::Watch:
        return "watch";
    case IsolationMode::User:
        return "user";
    case IsolationMode::None:
        break;
    }
    return "none";
}

std::string gapOfIsolation(const Settings& settings) {
    if (settings.isolation.mode != IsolationMode::User)
        return {};
    if (settings.dryRun)
        return "with DryRun=yes, a process keeps every GPU that it opened while its user held it";
    return {};
}

std::string toString(SlurmIdleAction action) {
    switch (action) {
    case SlurmIdleAction::Cancel:
        return "cancel";
    case SlurmIdleAction::Requeue:
        return "requeue";
    case SlurmIdleAction::Warn:
        break;
    }
    return "warn";
}

std::string toString(IdleAction action) {
    return action == IdleAction::Park ? "park" : "detach";
}

Bytes MemoryPart::of(Bytes total) const {
    return percent ? Bytes{total.count / 100 * *percent} : bytes;
}

bool SlurmDevices::contains(const DeviceUuid& uuid) const {
    return all || std::ranges::find(uuids, uuid) != uuids.end();
}

} // namespace genv::core
